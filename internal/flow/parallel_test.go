package flow

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// party is a downstream that takes some calls at once and refuses the others, and a
// sender that is bounded by a Parallel alone.
type party struct {
	p       Parallel
	rng     *rand.Rand
	takes   int64 // nanoseconds of a call that passes
	room    int
	noise   float64
	workers int
	now     int64
	out     []guest

	passed, refused int
}

type guest struct {
	sent, ends int64
	beside     int
	refused    bool
}

func newParty(room int) *party {
	return &party{rng: rand.New(rand.NewPCG(5, 6)), takes: 30e6, room: room, workers: 24, now: at0}
}

// run lets seconds pass in steps of a millisecond. How many are sent varies, as it
// does at a rate that is just about right.
func (w *party) run(seconds int) {
	for end := w.now + int64(seconds)*second; w.now < end; w.now += 1e6 {
		w.out = slices.DeleteFunc(w.out, func(g guest) bool {
			if g.ends > w.now {
				return false
			}
			w.p.Ended(w.now, g.sent, g.beside, g.refused)
			if g.refused {
				w.refused++
			} else {
				w.passed++
			}
			return true
		})
		for len(w.out) < w.workers && w.rng.Float64() < 0.5 && w.p.Allow(w.now, len(w.out)) {
			w.send()
		}
	}
}

func (w *party) send() {
	inside := 0
	for _, g := range w.out {
		if !g.refused {
			inside++
		}
	}
	g := guest{sent: w.now, beside: len(w.out) + 1, refused: w.rng.Float64() < w.noise || w.room > 0 && inside >= w.room}
	g.ends = w.now + 2e6
	if !g.refused {
		g.ends = w.now + w.takes/2 + w.rng.Int64N(w.takes)
	}
	w.out = append(w.out, g)
}

func TestANumberAtOnceIsFoundAndKept(t *testing.T) {
	for _, noise := range []float64{0, 0.2} {
		w := newParty(8)
		w.noise = noise
		w.run(10)
		if b := w.p.Bound(); b < 7 || b > 9 {
			t.Errorf("bound %d after 10 s with %g refused at random, want 8", b, noise)
		}
		w.passed, w.refused = 0, 0
		w.run(60)
		if share := float64(w.refused) / float64(w.passed+w.refused); share > noise+0.02 {
			t.Errorf("%.3f refused with a bound of %d, and %g of it at random", share, w.p.Bound(), noise)
		}
		if w.p.Text() == "" || !w.p.Found() || w.p.Found() {
			t.Error("that it was found has to be told, once")
		}
	}
}

func TestABoundGoesWhenMoreAreTaken(t *testing.T) {
	w := newParty(8)
	w.run(10)
	w.room = 0
	w.run(30)
	if b := w.p.Bound(); b != 0 {
		t.Errorf("bound %d half a minute after any number was taken, want none", b)
	}
}

func TestRefusalsAtRandomAreNoNumber(t *testing.T) {
	w := newParty(0)
	w.noise = 0.3
	for range 60 {
		w.run(1)
		if b := w.p.Bound(); b != 0 {
			t.Fatalf("bound %d after %d s of refusals at random", b, (w.now-at0)/second)
		}
	}
}

func TestOneCallAtATimeAsksForMore(t *testing.T) {
	w := newParty(8)
	w.run(10)
	b := w.p.Bound()
	now := w.now + 10*longestProbe
	if !w.p.Allow(now, b) || w.p.Allow(now, b) || w.p.Allow(now, b+1) {
		t.Error("more than one call above the bound may start")
	}
}

func TestNumbersInFlightHaveBins(t *testing.T) {
	for n := 1; n < 20_000; n++ {
		if bin := binOf(n); numberOf(bin) < n && bin < crowdBins-1 || bin > 0 && numberOf(bin-1) >= n {
			t.Fatalf("%d in flight is in bin %d, which ends at %d", n, bin, numberOf(bin))
		}
	}
}
