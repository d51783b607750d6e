package flow

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// party is a downstream that takes some calls at once and refuses the others, and a
// sender that keeps to a rate and to a Parallel.
type party struct {
	p     Parallel
	rng   *rand.Rand
	takes int64 // nanoseconds of a call that passes
	room  int
	noise float64
	rate  float64 // calls a second, with chance
	now   int64
	out   []guest

	passed, refused int
}

type guest struct {
	sent, ends int64
	level      int
	refused    bool
}

func newParty(room int) *party {
	return &party{rng: rand.New(rand.NewPCG(5, 6)), takes: 30e6, room: room, rate: 240, now: at0}
}

// run lets seconds pass in steps of a millisecond, under a rate that was cut in the beginning.
func (w *party) run(seconds int) {
	for end := w.now + int64(seconds)*second; w.now < end; w.now += 1e6 {
		w.out = slices.DeleteFunc(w.out, func(g guest) bool {
			if g.ends > w.now {
				return false
			}
			w.p.Ended(w.now, g.sent, g.level, len(w.out)-1, g.refused)
			if g.refused {
				w.refused++
			} else {
				w.passed++
			}
			return true
		})
		if b := w.p.Bound(); w.rng.Float64() < w.rate/1000 && (b == 0 || len(w.out) < b) {
			w.send()
		}
		if w.now%windowNanos == 0 {
			w.p.Look(w.now, true, 0)
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
	g := guest{sent: w.now, level: len(w.out) + 1, refused: w.rng.Float64() < w.noise || w.room > 0 && inside >= w.room}
	g.ends = w.now + 2e6
	if !g.refused {
		g.ends = w.now + w.takes/2 + w.rng.Int64N(w.takes)
	}
	w.out = append(w.out, g)
	w.p.Sent(w.now, len(w.out))
}

func TestANumberAtOnceIsFoundAndKept(t *testing.T) {
	for _, noise := range []float64{0, 0.05} {
		w := newParty(8)
		w.noise = noise
		w.run(20)
		if b := w.p.Bound(); b < 7 || b > 9 || w.p.Text() == "" {
			t.Errorf("bound %d after 20 s with %g refused at random, want 8", b, noise)
		}
		w.passed, w.refused = 0, 0
		w.run(60)
		if share := float64(w.refused) / float64(w.passed+w.refused); share > noise+0.01 {
			t.Errorf("%.3f refused with a bound of %d, and %g of it at random", share, w.p.Bound(), noise)
		}
	}
}

func TestABoundGrowsWithWhatIsTaken(t *testing.T) {
	w := newParty(8)
	w.run(20)
	w.room, w.rate = 16, 1000
	w.run(60)
	if b := w.p.Bound(); b < 15 || b > 18 {
		t.Errorf("bound %d a minute after 16 at once were taken, want 16", b)
	}
	w.room = 0
	w.run(60)
	if b := w.p.Bound(); b != 0 {
		t.Errorf("bound %d a minute after any number was taken, want none", b)
	}
}

func TestRefusalsAtRandomAreNoNumber(t *testing.T) {
	for _, noise := range []float64{0.05, 0.1, 0.3} {
		w := newParty(0)
		w.noise = noise
		bounded := 0
		for range 120 {
			w.run(1)
			if w.p.Bound() != 0 {
				bounded++
			}
		}
		if bounded > 2 {
			t.Errorf("%g refused at random: bounded in %d of 120 s", noise, bounded)
		}
	}
}

func TestOneCallAtATimeAsksForMore(t *testing.T) {
	w := newParty(8)
	w.run(20)
	b := w.p.bound
	w.p.Look(w.now+2*longestProbe, true, 0)
	if w.p.Bound() != b+1 {
		t.Fatalf("bound %d when one more should be tried, want %d", w.p.Bound(), b+1)
	}
	w.p.Sent(w.now+2*longestProbe, b+1)
	if w.p.Bound() != b {
		t.Errorf("a second call above the bound may start")
	}
	if !w.p.Ended(w.now+2*longestProbe+1, w.now+2*longestProbe, b+1, b, true) || w.p.Bound() != b {
		t.Errorf("bound %d after one more was refused, want %d", w.p.Bound(), b)
	}
}
