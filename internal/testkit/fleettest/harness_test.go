//go:build unix

package fleettest_test

import (
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/fleettest"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store/redisstore"
)

const (
	lease = 2 * time.Second
	// patience bounds how long work may take to end after the last fault.
	patience = 30 * time.Second
)

// onRedis starts a fleet on one server of its own. conf is added to the server's settings.
func onRedis(t *testing.T, c fleettest.Config, conf ...string) (*fleettest.Fleet, *testenv.Server) {
	t.Helper()
	r := testenv.Redis(t, conf...)
	c.Addresses, c.Mode, c.LeaseFor = []string{r.Addr}, redisstore.Memory, lease
	return fleettest.New(t, c), r
}

// while lets time pass in which the load runs.
func while(d time.Duration) { <-time.After(d) }

// cutAll tells the judge that no node reaches the store for a while.
func cutAll(f *fleettest.Fleet) {
	for _, n := range f.Nodes {
		n.Cut()
	}
}

func until(t *testing.T, what string, within time.Duration, ok func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !ok() {
		if time.Since(began) > within {
			t.Fatalf("waited %v until %s", within, what)
		}
		while(5 * time.Millisecond)
	}
	return time.Since(began)
}

func ms(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
