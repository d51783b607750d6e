//go:build unix

package fleettest_test

import (
	"context"
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/weirhq/weir/internal/testkit/fleettest"
)

func TestMain(m *testing.M) {
	fleettest.Child(context.Background())
	_ = flag.Set("test.parallel", "4") // they wait most of the time
	// A cluster client that was about to ask for the slots when it was closed sleeps on for up to a second,
	// and one that has found a server gone closes the way there after five.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"))
}
