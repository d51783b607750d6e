//go:build unix

package fleettest_test

import (
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/fleettest"
)

func TestAQuietRunRepeatsNothing(t *testing.T) {
	t.Parallel()
	f, _ := onRedis(t, fleettest.Config{Refusals: true})
	stop := f.Busy(8, 400)
	while(2 * time.Second)
	stop()
	v := f.Judge(patience)
	if len(v.Calls.Lives()) != len(f.Nodes) {
		t.Errorf("items by life %v: want all of %d nodes at work", v.Calls.Lives(), len(f.Nodes))
	}
	t.Logf("longest pauses: %v", v.Calls.Gaps()[:3])
}

func TestOthersGoOnWithTheWorkOfAKilledNode(t *testing.T) {
	t.Parallel()
	f, _ := onRedis(t, fleettest.Config{})
	stop := f.Busy(12, 400)
	while(1500 * time.Millisecond)
	dead, killed := f.Nodes[1].Life(), time.Now()
	f.Nodes[1].Kill()
	while(lease + 1500*time.Millisecond)
	f.Nodes[1].Start()
	while(time.Second)
	stop()
	v := f.Judge(patience)
	took, had := v.Calls.Resumed(dead, killed)
	t.Logf("work of the dead node stood still for %v; items by life %v", ms(took), v.Calls.Lives())
	if !had || took > lease+time.Second {
		t.Errorf("work resumed after %v (the node had some: %v), want at most lease + 1s", took, had)
	}
}

func TestANodeFrozenPastItsLeaseDoesNoHarm(t *testing.T) {
	t.Parallel()
	f, _ := onRedis(t, fleettest.Config{})
	stop := f.Busy(12, 400)
	while(1500 * time.Millisecond)
	zombie, frozen := f.Nodes[1].Life(), time.Now()
	f.Nodes[1].Freeze()
	while(lease + 1500*time.Millisecond)
	f.Nodes[1].Thaw()
	thawed := time.Now()
	while(1500 * time.Millisecond)
	stop()
	v := f.Judge(patience)
	took, had := v.Calls.Resumed(zombie, frozen)
	back, again := v.Calls.First(zombie, thawed)
	t.Logf("work of the frozen node stood still for %v; it called again %v after the thaw (%v); items by life %v", ms(took), ms(back), again, v.Calls.Lives())
	if !had || took > lease+time.Second {
		t.Errorf("work resumed after %v (the node had some: %v), want at most lease + 1s", took, had)
	}
}

func TestARollingRestartRepeatsNothing(t *testing.T) {
	f, _ := onRedis(t, fleettest.Config{})
	stop := f.Busy(12, 400)
	while(1500 * time.Millisecond)
	for _, n := range f.Nodes {
		began := time.Now()
		n.Stop()
		stopped := time.Since(began)
		if kept := n.Kept(); len(kept) > 0 {
			t.Errorf("the node stopped and did not hand over partitions %v: they wait for its leases to end", kept)
		}
		n.Start()
		t.Logf("stopped in %v, up again in %v", ms(stopped), ms(time.Since(began)-stopped))
		while(700 * time.Millisecond)
	}
	stop()
	v := f.Judge(patience)
	gaps := v.Calls.Gaps()
	t.Logf("longest pauses: %v", gaps[:3])
	if v.Stats.Repeats != 0 {
		t.Errorf("%d repeats", v.Stats.Repeats)
	}
}
