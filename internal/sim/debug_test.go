package sim

import (
	"fmt"
	"testing"
)

func TestStall(t *testing.T) {
	if *oneSeed == 0 {
		return
	}
	w := newWorld(*oneSeed, newCodec(t))
	w.plan.bound = 100 * second
	w.trace.recording = true
	f := w.run()
	t.Log(f)
	for _, n := range w.nodes {
		t.Logf("n%d up %v paused %v drains %v pool %+v", n.no, n.up, n.paused, n.drains, n.pool)
		for _, o := range n.parts {
			if o != nil {
				t.Logf("  p%d running %d inflight %d wake %d turning %v mail %d gone %v stopped %v effects %+v", o.partition, o.running, o.machine.InFlight(), o.wakeAt-w.now, o.turning, len(o.mail), o.gone, o.stopped, fmt.Sprintf("%+v", o.machine.Advance(w.now)))
				for _, g := range o.gates {
					t.Logf("    %s lane %+v", g.lane.Resource().Name(), *g.lane)
				}
			}
		}
	}
}

func TestLeft(t *testing.T) {
	if *oneSeed == 0 {
		return
	}
	w := newWorld(*oneSeed, newCodec(t))
	w.plan.bound = 100 * second
	t.Log(w.run())
	for _, b := range w.bulks {
		if b.state().Final() {
			continue
		}
		t.Logf("%s %+v sizes %v", b.spec.ID, b.status, b.spec.Sizes)
		for no, s := range b.blocks {
			for i := range s.Size {
				if !s.Passed[len(s.Passed)-1].Has(i) && !s.Failed.Has(i) && !s.LeftOut.Has(i) {
					t.Logf("block %d item %d: passed0 %v retries %+v", no, i, s.Passed[0].Has(i), s.Retries)
				}
			}
		}
	}
}

func TestEnds(t *testing.T) {
	codec := newCodec(t)
	worst := map[int64]int{}
	for seed := uint64(1); seed < 1500; seed++ {
		w := newWorld(seed, codec)
		f := w.run()
		took := (w.now - epoch - w.plan.healAt) / second
		worst[100*took/(w.plan.bound/second)/5]++
		if 100*took/(w.plan.bound/second) > 50 {
			t.Log(seed, took, w.plan.bound/second, f)
		}
	}
	t.Log(worst)
}
