//go:build unix

package fleet_test

import (
	"os"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/fleet"
)

// longRun makes the run of the shared limit as long as what is published of it.
const longRun = "WEIR_FLEET_LONG"

// Three nodes share a limit, one is killed and comes back. The judge fails the test
// for any second above the limit.
func TestNodesShareALimitThroughADeath(t *testing.T) {
	const rate = 5000
	third := 4 * time.Second
	switch {
	case os.Getenv(longRun) != "":
		third = 20 * time.Second
	case testing.Short():
		third = 2 * time.Second
	}
	f, _ := onRedis(t, fleet.Config{Rate: rate, Batch: 25, Concurrency: 16})
	stop := f.Busy(24, 300)
	while(2 * time.Second) // until all have their share
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
	v := f.Judge(patience)
	t.Logf("of the limit: %.1f %% over the whole; %.1f %% before the death, %.1f %% after it, %.1f %% after the return; items by life %v",
		100*v.Calls.Rate(began, ended)/rate, 100*v.Calls.Rate(began, killed)/rate,
		100*v.Calls.Rate(killed, restarted)/rate, 100*v.Calls.Rate(restarted, ended)/rate, v.Calls.Lives())
	for life, each := range v.Calls.Seconds(began.Add(-2*time.Second), ended) {
		t.Logf("life %d called for %v in each second", life, each)
	}
}
