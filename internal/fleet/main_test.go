//go:build unix

package fleet_test

import (
	"context"
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/weirhq/weir/internal/fleet"
)

func TestMain(m *testing.M) {
	fleet.Child(context.Background())
	_ = flag.Set("test.parallel", "4") // they wait most of the time
	goleak.VerifyTestMain(m)
}
