//go:build unix

package fleettest_test

import (
	"os"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/fleettest"
)

// longRun, if set, makes the run of the shared limit as long as what is published
// of it, and holds it against that.
const longRun = "WEIR_FLEET_LONG"

// Three nodes share a limit, one is killed and comes back. The judge fails the test
// for any second above the limit.
func TestNodesShareALimitThroughADeath(t *testing.T) {
	const rate = 5000
	third, items, least := 4*time.Second, 1000, 0.5 // on a machine that others use, too
	switch {
	case os.Getenv(longRun) != "":
		third, items, least = 20*time.Second, 3000, 0.97
	case testing.Short():
		third, least = 2*time.Second, 0.1
	}
	f, _ := onRedis(t, fleettest.Config{Rate: rate, Batch: 25, Concurrency: 16})
	stop := f.Busy(16, items)
	while(lease + 2*time.Second) // a store that knows nothing waits for a lease and a window
	began := time.Now()
	while(third)
	killed := time.Now()
	f.Nodes[1].Kill()
	while(third)
	f.Nodes[1].Start()
	restarted := time.Now()
	while(third)
	ended := time.Now()
	stop()
	v := f.Judge(2 * patience)
	used := func(from, to time.Time) float64 { return v.Calls.Rate(from, to) / rate }
	t.Logf("of the limit: %.1f %% over the whole; %.1f %% before the death, %.1f %% after it, %.1f %% after the return",
		100*used(began, ended), 100*used(began, killed), 100*used(killed, restarted), 100*used(restarted, ended))
	for life, each := range v.Calls.Seconds(began, ended) {
		t.Logf("life %d called for %v in each second", life, each)
	}
	if used(began, ended) < least {
		t.Errorf("%.1f %% of the limit was used, want at least %.0f %%", 100*used(began, ended), 100*least)
	}
}
