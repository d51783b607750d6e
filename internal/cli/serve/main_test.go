package serve

import (
	"testing"

	"go.uber.org/goleak"
)

// The server's handler of uploads outlives each request by a second: it is none of this package's.
const lingering = "github.com/tus/tusd/v2/pkg/handler.newDelayedContext.func1"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreTopFunction(lingering)) }
