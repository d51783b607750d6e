//go:build unix

package fleettest_test

import (
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/testkit/fleettest"
)

// A stream of eight bulk actions of two tasks a second, each task in two steps of
// about 0.3 s, keeps 5 to 10 workers busy; eight times as much needs over forty.
const (
	streamed = 8
	small    = 20
	large    = 80
	needed   = 45
)

// scaled starts a fleet whose lanes begin with few workers, and a light load.
func scaled(t *testing.T) (f *fleettest.Fleet, stop func()) {
	f, _ = onRedis(t, fleettest.Config{Partitions: 3, Slots: 64, Workers: 2, Latency: 300 * time.Millisecond, Concurrency: 100})
	stop = f.Stream(streamed, small)
	until(t, "all lanes are known", patience, func() bool { return len(f.Lanes()) == 3 })
	while(4 * time.Second)
	return f, stop
}

func TestWorkersFollowAStepOfTheLoadThroughADeath(t *testing.T) {
	t.Parallel()
	f, stop := scaled(t)
	before := f.Workers()
	stop()
	began := time.Now()
	stops := []func(){f.Stream(streamed, large), f.Stream(streamed, large)}
	took := until(t, "the workers have followed", patience, func() bool { return f.Workers() >= needed })
	t.Logf("%d workers, then %d within %v of a load eight times as high", before, f.Workers(), ms(took))
	if took > 15*time.Second {
		t.Errorf("the workers took %v to follow, want at most 15 s", took)
	}

	// A lane's number of workers is stored: its next owner starts with it, under any leader.
	while(3 * time.Second)
	f.SetScaling(func(s *weir.Scaling) { s.Paused = "a look at what is restored" })
	while(2500 * time.Millisecond)
	victim := f.Nodes[0]
	if victim == f.Leader() {
		victim = f.Nodes[1]
	}
	had := victim.Owns()
	if len(had) == 0 {
		t.Fatal("the node that is to die owns nothing")
	}
	victim.Kill()
	until(t, "others own the lanes of the dead node", patience, func() bool {
		for _, l := range had {
			if now, ok := f.Lanes()[l.ID]; !ok || now.Node == l.Node {
				return false
			}
		}
		return true
	})
	for _, l := range had {
		if now := f.Lanes()[l.ID]; now.Workers != l.Workers {
			t.Errorf("%v has %d workers with its new owner, %d before", l.ID, now.Workers, l.Workers)
		}
	}
	f.SetScaling(func(s *weir.Scaling) { s.Paused = "" })
	for _, stop := range stops {
		stop()
	}
	t.Logf("in all: %v", ms(time.Since(began)))
	f.Judge(2 * patience)
}

func TestALeaderKilledInMidRampIsReplaced(t *testing.T) {
	t.Parallel()
	f, stop := scaled(t)
	stop()
	stops := []func(){f.Stream(streamed, large), f.Stream(streamed, large)}
	began := time.Now()
	base := f.Workers()
	until(t, "the first lane grows", patience, func() bool { return f.Workers() > base })
	leader := f.Leader()
	if leader == nil {
		t.Fatal("no node leads")
	}
	at := f.Workers()
	leader.Kill()
	took := until(t, "the workers have followed", patience, func() bool { return f.Workers() >= needed })
	t.Logf("leader killed with %d workers; %d workers %v after the step", at, f.Workers(), ms(time.Since(began)))
	if limit := 15*time.Second + lease + time.Second; took > limit {
		t.Errorf("the workers took %v to follow without their leader, want at most %v", took, limit)
	}
	for id := range f.Lanes() {
		all := f.Decisions(id)
		for i := 1; i < len(all); i++ {
			if all[i-1].Epoch < all[i].Epoch {
				t.Errorf("%v: a leader of epoch %d decided after one of epoch %d", id, all[i-1].Epoch, all[i].Epoch)
			}
		}
	}
	for _, stop := range stops {
		stop()
	}
	f.Judge(2 * patience)
}
