//go:build planted

package planted

import "sync/atomic"

var chosen atomic.Int64 // the one bug that is switched on, in this build for tests alone

// Choose switches on bug b and switches off every other.
func Choose(b Bug) { chosen.Store(int64(b)) }

// Is reports whether bug b is switched on.
func Is(b Bug) bool { return chosen.Load() == int64(b) }
