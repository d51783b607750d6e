package quota

import (
	"testing"
	"time"

	"github.com/weirhq/weir/store"
)

func big() store.Limit { return store.Limit{Resource: "r", Units: 10_000, Window: time.Second} }

// perWeight is what tenants got since before, by weight.
func (w *world) perWeight(before []float64) (xs []float64) {
	for _, n := range w.nodes {
		for _, ln := range n.lanes {
			for _, t := range ln.tenants {
				xs = append(xs, (w.served[t.no]-before[t.no])/float64(t.weight))
			}
		}
	}
	return xs
}

func TestE12Sketch(t *testing.T) {
	for seed := range uint64(3) {
		w := newWorld(seed, big(), 100, 16, 295)
		w.elect()
		begin := w.now
		for _, n := range w.nodes {
			n.set(true)
		}
		w.run(w.now + 10*sec)
		before := append([]float64(nil), w.served...)
		from := w.now
		h, d, p := w.holds, w.draws, w.permits
		w.run(w.now + 60*sec)
		t.Logf("steady: use %.4f jain %.5f holds/s %d draws/s %d permits/s %d", w.use(from, w.now), jain(w.perWeight(before)), (w.holds-h)/60, (w.draws-d)/60, (w.permits-p)/60)
		if seed == 1 {
			all := 0.0
			for _, n := range w.nodes {
				all += n.weight()
			}
			for _, n := range w.nodes {
				s := w.lead.plan.nodes[n.keeper.node]
				got := 0.0
				for _, ln := range n.lanes {
					for _, t := range ln.tenants {
						got += w.served[t.no] - before[t.no]
					}
				}
				f := 10000 * n.weight() / all
				t.Logf("%s F %.0f got %.0f (%.3f) target %d drawn %.0f deficit %.0f said %+v", s.name, f, got/60, got/60/f, s.target, s.drawn, s.deficit, s.said)
			}
		}
		from = w.now
		for _, n := range w.nodes[:8] {
			n.set(false)
		}
		w.run(w.now + 10*sec)
		t.Logf("half idle: back %v use %.4f", w.back(from, w.now, .985), w.use(from, w.now))
		from = w.now
		for _, n := range w.nodes[:8] {
			n.set(true)
		}
		w.run(w.now + 10*sec)
		t.Logf("half back: back %v use %.4f", w.back(from, w.now, .985), w.use(from, w.now))
		from = w.now
		w.nodes[3].dead = true
		w.run(w.now + 10*sec)
		t.Logf("death: back %v use %.4f", w.back(from, w.now, .985), w.use(from, w.now))
		from = w.now
		w.lead.dead = true
		w.run(w.now + 10*sec)
		w.elect()
		w.run(w.now + 10*sec)
		t.Logf("leader: back %v use %.4f", w.back(from, w.now, .985), w.use(from, w.now))
		from = w.now
		w.failOver()
		w.run(w.now + 10*sec)
		t.Logf("failover: back %v use %.4f", w.back(from, w.now, .985), w.use(from, w.now))
		t.Logf("begin: back %v peak %d", w.back(begin, begin+10*sec, .985), w.peak())
	}
}

func (n *node) weight() (sum float64) {
	for _, ln := range n.lanes {
		for _, t := range ln.tenants {
			sum += float64(t.weight)
		}
	}
	return sum
}
