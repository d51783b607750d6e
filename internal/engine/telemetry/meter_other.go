//go:build !unix

package telemetry

import "time"

// processorTime is not known here: the share of the processors in use is 0.
func processorTime() time.Duration { return 0 }
