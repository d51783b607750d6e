package limit

import (
	"testing"

	"pgregory.net/rapid"
)

// takes starts tasks at one time until one is refused, and returns their number.
func takes(g *Gate, now int64, cost int) (n int, at int64) {
	for n < 1000 {
		at, ok := g.Take(now, cost)
		if !ok {
			return n, at
		}
		n++
	}
	return n, Never
}

func mustTake(t *testing.T, g *Gate, now int64) {
	t.Helper()
	if at, ok := g.Take(now, 1); !ok {
		t.Fatalf("refused at %d until %d for %v", now, at, g.Cause())
	}
}

func TestEachRefusalHasItsCause(t *testing.T) {
	for _, tt := range []struct {
		want Cause
		c    GateConfig
		set  func(*Gate)
		at   int64
	}{
		{CauseRate, GateConfig{Rate: 1}, func(g *Gate) { g.Take(sec, 1) }, 2 * sec},
		{CauseConcurrency, GateConfig{Concurrency: 1}, func(g *Gate) { g.Take(sec, 1) }, Never},
		{CauseBearable, GateConfig{Concurrency: 5}, func(g *Gate) { g.SetBearable(1); g.Take(sec, 1) }, Never},
		{CauseClosed, GateConfig{}, func(g *Gate) { g.CloseUntil(3 * sec) }, 3 * sec},
		{CauseCircuit, GateConfig{}, func(g *Gate) { g.CloseUntil(3 * sec); g.Refuse(sec, 1, CauseCircuit) }, 3 * sec},
	} {
		t.Run(tt.want.String(), func(t *testing.T) {
			g := NewGate(tt.c)
			tt.set(g)
			if tt.want != CauseCircuit {
				if at, ok := g.Take(sec, 1); ok || at != tt.at {
					t.Errorf("Take = %d, %v, want a refusal until %d", at, ok, tt.at)
				}
				if at := g.Peek(sec); at != tt.at {
					t.Errorf("Peek = %d, want %d", at, tt.at)
				}
			}
			if g.Cause() != tt.want {
				t.Errorf("cause %v, want %v", g.Cause(), tt.want)
			}
		})
	}
}

func TestWhatIsReleasedCanBeTaken(t *testing.T) {
	g := NewGate(GateConfig{Concurrency: 3})
	if n, _ := takes(g, 1, 1); n != 3 {
		t.Fatalf("%d tasks in flight, want 3", n)
	}
	g.Release(2)
	g.SetConcurrency(2)
	if n, _ := takes(g, 2, 1); n != 0 {
		t.Errorf("%d tasks started above a lowered concurrency", n)
	}
	g.SetConcurrency(4)
	if n, _ := takes(g, 3, 1); n != 2 {
		t.Errorf("%d tasks started after it was raised, want 2", n)
	}
}

// Whatever is set meanwhile, and however late tasks start that were let go, no window
// sees more starts than its rate, and no more tasks are in flight than allowed.
func TestLimitsOfAGateHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const rate = 200
		g := NewGate(GateConfig{Rate: rate, Concurrency: 6})
		now, inFlight := int64(1e18), 0
		type task struct {
			at   int64
			cost int
		}
		var waiting []task // let go, and not started yet
		var log []taken
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			now += rapid.Int64Range(0, 5*ms).Draw(t, "step")
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				g.SetPace(now, rapid.SampledFrom([]float64{0, 50, 500}).Draw(t, "pace"))
			case 1:
				g.CloseUntil(now + rapid.Int64Range(0, 50*ms).Draw(t, "closed"))
			case 2:
				g.Idle(now)
			case 3:
				if inFlight > 0 {
					inFlight--
					g.Release(now)
				}
			case 4, 5:
				if len(waiting) > 0 {
					w := waiting[0]
					waiting = waiting[1:]
					g.Late(w.at, now, w.cost)
					log = append(log, taken{now, int64(w.cost)})
				}
			default:
				cost := rapid.IntRange(1, 9).Draw(t, "cost")
				at, ok := g.Take(now, cost)
				switch {
				case ok && at != Never:
					t.Fatalf("a task has to start by %d, want any time", at)
				case ok:
					inFlight++
					waiting = append(waiting, task{now, cost})
				case at <= now:
					t.Fatalf("refused until %d, which is not after now, %d", at, now)
				}
			}
			for len(waiting) > 0 && now-waiting[0].at > 20*ms { // that is too long to wait: it is given back
				waiting = waiting[1:]
			}
			if in := inWindow(log, now); in > rate {
				t.Fatalf("a window saw %d starts, the rate is %d", in, rate)
			}
			if inFlight > 6 {
				t.Fatalf("%d tasks in flight, at most 6 allowed", inFlight)
			}
		}
	})
}

func BenchmarkGate(b *testing.B) {
	g := NewGate(GateConfig{Rate: 1e9, Concurrency: 1000})
	now := int64(1e18)
	b.ReportAllocs()
	for b.Loop() {
		now += 1000
		if _, ok := g.Take(now, 100); ok {
			g.Release(now)
		}
	}
}
