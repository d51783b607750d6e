//go:build unix

package fleettest_test

import (
	"os"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/fleettest"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store/redisstore"
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

// A limit starts at once on a store that can prove that it has granted nothing of it, and holds through restarts of
// the server, of all nodes, and of both. The judge fails the test for any second above the limit.
func TestALimitStartsAtOnceAndHoldsThroughEveryRestart(t *testing.T) {
	for _, tt := range []struct {
		name   string
		mode   redisstore.Mode
		conf   []string
		within time.Duration // from the first submit to the first call, on a machine that others use, too
	}{
		{"log synced with every write", redisstore.Disk, []string{"appendfsync", "always"}, 1500 * time.Millisecond},
		{"log synced every second", redisstore.Memory, nil, 1500 * time.Millisecond},
		{"no log", redisstore.Memory, []string{"appendonly", "no"}, patience},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := testenv.Redis(t, tt.conf...)
			f := fleettest.New(t, fleettest.Config{
				Addresses: []string{r.Addr}, Mode: tt.mode, LeaseFor: lease, Rate: 1000, Batch: 10, Concurrency: 8,
			})
			began := time.Now()
			stop := f.Busy(8, 300)
			while(3 * time.Second)
			restart := func(down time.Duration) {
				cutAll(f)
				r.Kill()
				while(down)
				r.Restart()
			}
			restart(100 * time.Millisecond)
			while(3 * time.Second)
			restart(1500 * time.Millisecond)
			while(3 * time.Second)
			if tt.name != "no log" { // nobody would remember the work
				for _, n := range f.Nodes {
					n.Kill()
				}
				restart(0)
				for _, n := range f.Nodes {
					n.Start()
				}
				while(lease + 2*time.Second)
			}
			stop()
			v := f.Judge(patience)
			first, some := v.Calls.First(1, began)
			for life := 2; life <= len(f.Nodes); life++ {
				if d, ok := v.Calls.First(life, began); ok && (!some || d < first) {
					first, some = d, true
				}
			}
			t.Logf("first call after %v; longest pauses: %v", ms(first), v.Calls.Gaps()[:3])
			if !some || first > tt.within {
				t.Errorf("first call %v after the first submit, want at most %v", first, tt.within)
			}
		})
	}
}
