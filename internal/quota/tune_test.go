package quota

import (
	"testing"
	"time"

	"github.com/weirhq/weir/store"
)

func TestSmall(t *testing.T) {
	for seed := range uint64(3) {
		w := newWorld(seed, store.Limit{Resource: "r", Units: 10, Window: time.Second}, 1, 3, 9)
		w.elect()
		for _, n := range w.nodes {
			n.set(true)
		}
		from := w.now
		w.run(w.now + 200*sec)
		for _, n := range w.nodes {
			got := 0.0
			for _, ln := range n.lanes {
				for _, x := range ln.tenants {
					got += w.served[x.no]
				}
			}
			t.Log(n.weight()/1024, got)
		}
		t.Logf("small: use %.4f peak %d jain %.4f draws/s %d holds/s %d permits %d", w.use(from, w.now), w.peak(), jain(w.perWeight(make([]float64, 9))), w.draws/60, w.holds/60, w.permits)
	}
	for _, cap := range []int64{10, 2} {
		for seed := range uint64(3) {
			w := newWorld(seed, store.Limit{Resource: "r", Units: cap}, 1, 3, 9)
			w.ttl = 10 * time.Second
			for _, n := range w.nodes {
				n.service = func() int64 { return 10*ms + w.rnd.Int64N(200*ms) }
			}
			w.elect()
			for _, n := range w.nodes {
				n.set(true)
			}
			w.run(w.now + 5*sec)
			b0, from := w.busy, w.now
			w.run(w.now + 200*sec)
			t.Logf("cap %d: most %d used %.4f jain %.4f holds/s %d", cap, w.most, float64(w.busy-b0)/float64(w.now-from)/float64(cap), jain(w.perWeight(make([]float64, 9))), w.holds/65)
			w.nodes[1].set(false)
			w.run(w.now + 3*sec)
			b0, from = w.busy, w.now
			w.run(w.now + 10*sec)
			t.Logf("   one idle: most %d used %.4f", w.most, float64(w.busy-b0)/float64(w.now-from)/float64(cap))
			w.nodes[2].dead = true
			w.run(w.now + 12*sec)
			b0, from = w.busy, w.now
			w.run(w.now + 10*sec)
			t.Logf("   one dead: most %d used %.4f", w.most, float64(w.busy-b0)/float64(w.now-from)/float64(cap))
		}
	}
}

func TestThree(t *testing.T) {
	for seed := range uint64(4) {
		w := newWorld(seed, store.Limit{Resource: "r", Units: 500, Window: time.Second}, 5, 3, 30)
		w.elect()
		for _, n := range w.nodes {
			n.set(true)
		}
		w.run(w.now + 10*sec)
		from := w.now
		d, p, h := w.draws, w.permits, w.holds
		w.run(w.now + 60*sec)
		t.Logf("use %.4f peak %d draws/s %d permits/s %.2f holds/s %d", w.use(from, w.now), w.peak(), (w.draws-d)/60, float64(w.permits-p)/60, (w.holds-h)/60)
	}
}
