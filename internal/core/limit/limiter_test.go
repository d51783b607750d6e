package limit

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const (
	ms  = int64(time.Millisecond)
	sec = int64(time.Second)
)

// taken records a start that a limiter allowed.
type taken struct{ at, cost int64 }

// drain lets costs start as early as l allows from now on, and returns the log.
func drain(l *Limiter, now int64, costs ...int) []taken {
	var log []taken
	for _, c := range costs {
		now = max(now, l.Ready(now, c))
		l.Take(now, c)
		log = append(log, taken{now, int64(c)})
	}
	return log
}

// peak returns the most that started in any window of the given length.
func peak(log []taken, window int64) int64 {
	var most, sum int64
	first := 0
	for _, x := range log {
		sum += x.cost
		for log[first].at <= x.at-window {
			sum -= log[first].cost
			first++
		}
		most = max(most, sum)
	}
	return most
}

func ones(n int) []int {
	costs := make([]int, n)
	for i := range costs {
		costs[i] = 1
	}
	return costs
}

func TestNoWindowHoldsMoreThanItsQuota(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.OneOf(
			rapid.Map(rapid.IntRange(1, 20_000), func(n int) float64 { return float64(n) }),
			rapid.Float64Range(0.05, 50),
		).Draw(t, "rate")
		l := New(rate)
		chunk := Chunk(rate, 100)
		var log []taken
		now := int64(1e18)
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			switch rapid.IntRange(0, 10).Draw(t, "what") {
			case 0: // a stall or a pause
				now += rapid.Int64Range(0, 3*sec).Draw(t, "stall")
			case 1:
				l.Busy(now)
			case 2:
				l.SetPace(now, rate*rapid.SampledFrom([]float64{0, 0.1, 0.7, 1, 3}).Draw(t, "pace"))
			default:
				c := rapid.IntRange(1, chunk).Draw(t, "cost")
				late := rapid.Int64Range(0, ms).Draw(t, "late")
				now = max(now, l.Ready(now, c)) + late
				if l.Ready(now, c) > now {
					t.Fatalf("ready at %d was taken back", now)
				}
				l.Take(now, c)
				log = append(log, taken{now, int64(c)})
			}
		}
		if got := peak(log, l.window); got > l.quota {
			t.Fatalf("a window of %v held %d items, want <= %d", time.Duration(l.window), got, l.quota)
		}
	})
}

func TestRateIsUsedUp(t *testing.T) {
	for _, tt := range []struct {
		name string
		rate float64
		late int64 // how late each start is
		want float64
	}{
		{"ten per second", 10, 0, 0.999},
		{"a rate with a fraction", 1.5, 0, 0.999},
		{"less than one per second", 0.25, 0, 0.99},
		{"ten thousand per second, one by one", 10_000, 0, 0.998},
		{"stalls of half the catch-up", 1000, 50 * ms, 0.94},
		{"late by a tenth of a millisecond", 1000, ms / 10, 0.998},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := New(tt.rate)
			start := int64(1e18)
			l.Busy(start)
			now, n := start, 0
			for n < int(tt.rate*60) {
				if at := l.Ready(now, 1); at > now {
					now = at + tt.late
				}
				l.Take(now, 1)
				n++
			}
			ideal := float64(n) / tt.rate
			if got := ideal / (float64(now-start)/1e9 + 1/tt.rate); got < tt.want {
				t.Errorf("share of the rate used = %.4f, want >= %.4f", got, tt.want)
			}
		})
	}
}

func TestIdlenessEarnsTheBurstOnly(t *testing.T) {
	l := New(1000)
	now := int64(1e18)
	l.Busy(now)
	n := 0
	for ; l.Ready(now, 1) <= now; n++ {
		l.Take(now, 1)
	}
	if n != 21 { // 20 ms of the rate, and the task that meets the edge
		t.Errorf("items started at once after idleness = %d, want 21", n)
	}
}

func TestStallIsCaughtUp(t *testing.T) {
	l := New(1000)
	now := int64(1e18)
	l.Busy(now)
	log := drain(l, now, ones(500)...)
	now = log[len(log)-1].at + 60*ms
	n := 0
	for ; l.Ready(now, 1) <= now; n++ {
		l.Take(now, 1)
	}
	if n < 60 || n > 61 {
		t.Errorf("items started at once after a stall of 60 ms = %d, want 60", n)
	}
}

func TestSlowRatesWidenTheWindow(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rate   float64
		window time.Duration
		quota  int64
	}{
		{"whole rates keep one second", 10, time.Second, 10},
		{"one in two seconds", 0.5, 2 * time.Second, 1},
		{"three in two seconds", 1.5, 1333333334 * time.Nanosecond, 2},
		{"one a minute", 1.0 / 60, time.Minute, 1},
		{"below the least rate", 1e-12, 1e15 * time.Nanosecond, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := New(tt.rate)
			if l.quota != tt.quota || math.Abs(float64(l.window-int64(tt.window))) > 10 {
				t.Errorf("quota = %d in %v, want %d in %v", l.quota, time.Duration(l.window), tt.quota, tt.window)
			}
		})
	}
}

func TestOversizedTaskIsPaidForAfterwards(t *testing.T) {
	l := New(10)
	now := int64(1e18)
	log := drain(l, now, 1, 100, 1)
	if wait := log[1].at - log[0].at; wait < sec {
		t.Errorf("100 items at 10/s started %v after one other, want an empty window first", time.Duration(wait))
	}
	if wait := log[2].at - log[1].at; wait < 9900*ms || wait > 10_000*ms {
		t.Errorf("the next item started %v after 100 items at 10/s, want 10s less the catch-up", time.Duration(wait))
	}
}

func TestChangeOfRateIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rates := rapid.SampledFrom([]float64{0.5, 1, 3, 10, 10.5, 100, 3000})
		l := New(rates.Draw(t, "rate"))
		now := int64(1e18)
		var log []taken
		for range rapid.IntRange(1, 6).Draw(t, "changes") {
			for range rapid.IntRange(0, 150).Draw(t, "takes") {
				now = max(now, l.Ready(now, 1))
				l.Take(now, 1)
				log = append(log, taken{now, 1})
				var in int64
				for i := len(log) - 1; i >= 0 && log[i].at > now-l.window; i-- {
					in += log[i].cost
				}
				if in > l.quota {
					t.Fatalf("the window that ends at a start holds %d, want <= %d (rate %v)", in, l.quota, l.rate)
				}
			}
			now += rapid.Int64Range(0, sec).Draw(t, "pause")
			l.SetRate(now, rates.Draw(t, "rate"))
			l.SetPace(now, rapid.SampledFrom([]float64{0, 0, 2, 500}).Draw(t, "pace"))
		}
	})
}

// A rate that is lowered for a moment only still counts what began before.
func TestAMomentAtALowRateForgetsNothing(t *testing.T) {
	for before := range 150 {
		l := New(10)
		now := int64(1e18)
		var log []int64
		take := func() {
			now = max(now, l.Ready(now, 1))
			l.Take(now, 1)
			log = append(log, now)
		}
		for range before {
			take()
		}
		l.SetRate(now, 0.5)
		l.SetRate(now, 10.5)
		for range 40 {
			take()
			if n := int64(len(log)); n > l.quota && log[n-1]-log[n-1-l.quota] < l.window {
				t.Fatalf("%d starts before: more than %d in a window", before, l.quota)
			}
		}
	}
}

func TestClosedLimiterLetsNothingStart(t *testing.T) {
	for _, rate := range []float64{0, 5} {
		l := New(rate)
		l.CloseUntil(7 * sec)
		if got := l.Ready(sec, 1); got != 7*sec {
			t.Errorf("rate %v: ready at %d, want the end of the closure, %d", rate, got, 7*sec)
		}
		l.CloseUntil(0)
		if got := l.Ready(sec, 1); got > sec {
			t.Errorf("rate %v: ready at %d after it was opened, want now", rate, got)
		}
	}
}

func TestATaskIsATwentiethOfASecondOrWhatKeepsTheRate(t *testing.T) {
	for _, tt := range []struct {
		name  string
		s     Size
		batch int
		want  int
	}{
		{"no rate", Size{}, 100, 100},
		{"no rate, slow calls", Size{Latency: 9, InFlight: 1}, 100, 100},
		{"a low rate", Size{Rate: 10}, 100, 1},
		{"less than one in a second", Size{Rate: 0.5}, 100, 1},
		{"a twentieth of a second", Size{Rate: 300}, 100, 15},
		{"the batch is less", Size{Rate: 50_000}, 100, 100},
		{"no batches", Size{Rate: 250}, 0, 1},
		{"slow calls", Size{Rate: 300, Latency: 2, InFlight: 16}, 100, 50},
		{"slower calls", Size{Rate: 100, Latency: 5, InFlight: 64}, 100, 10},
		{"few at once", Size{Rate: 300, Latency: 0.5, InFlight: 10}, 100, 22},
		{"quick calls", Size{Rate: 300, Latency: 0.01, InFlight: 64}, 100, 15},
		{"few calls", Size{Rate: 300, Full: true}, 100, 100},
		{"few calls, by half a second", Size{Rate: 100, Full: true}, 100, 50},
		{"few calls, no rate", Size{Full: true}, 100, 100},
		{"few calls, shared between nodes", Size{Rate: 100, Grain: 3, Full: true}, 100, 48},
		{"shared between nodes", Size{Rate: 100, Grain: 3}, 100, 3},
		{"a window in equal parts", Size{Rate: 220, Full: true}, 100, 74},
		{"no rest that is too small for a task", Size{Rate: 386}, 100, 18},
		{"no more than a second has", Size{Rate: 10, Latency: 60, InFlight: 2}, 100, 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.s.Items(tt.batch); got != tt.want {
				t.Errorf("%+v with batches of %d: %d items, want %d", tt.s, tt.batch, got, tt.want)
			}
		})
	}
}

func TestUsedCountsTheWindow(t *testing.T) {
	l := New(10)
	drain(l, sec, ones(5)...)
	if got := l.Used(sec + 10*ms); got < 1 || got > 5 {
		t.Errorf("used = %d, want what started inside the window", got)
	}
	if got := l.Used(10 * sec); got != 0 {
		t.Errorf("used = %d long after, want 0", got)
	}
}

func BenchmarkLimiter(b *testing.B) {
	for _, bb := range []struct {
		name string
		rate float64
		cost int
	}{{"unlimited", 0, 100}, {"100k by 100", 100_000, 100}, {"1k by 1", 1000, 1}} {
		b.Run(bb.name, func(b *testing.B) {
			l := New(bb.rate)
			now := int64(1e18)
			b.ReportAllocs()
			for b.Loop() {
				now = max(now, l.Ready(now, bb.cost))
				l.Take(now, bb.cost)
			}
		})
	}
}

// Whatever the rate, tasks of the size that is chosen for it use all of it but a hundredth.
func TestTasksOfTheirSizeUseTheWholeRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Size{Rate: float64(rapid.IntRange(20, 5000).Draw(t, "rate")), Full: rapid.Bool().Draw(t, "full")}
		s.Latency, s.InFlight = rapid.Float64Range(0, 5).Draw(t, "latency"), rapid.IntRange(1, 64).Draw(t, "in flight")
		batch := rapid.IntRange(1, 500).Draw(t, "batch")
		n, quota := s.Items(batch), int(s.Rate)
		if n < 1 || n > batch || n > quota {
			t.Fatalf("%d items of a batch of %d at %d/s", n, batch, quota)
		}
		if s.Rate*s.Latency > 0.4*float64(min(batch, quota)*s.InFlight) {
			return // so few calls in flight would hardly keep the rate
		}
		if rest := quota % n; rest < LeastPart(n) && rest > quota/100 {
			t.Errorf("%d/s in tasks of %d: a rest of %d is lost", quota, n, rest)
		}
	})
}

// What a small task leaves of a window is used by a part of the next, if that is worth a call.
func TestAPartOfATaskIsWorthACall(t *testing.T) {
	l := New(100)
	now := int64(1e18)
	for range 9 {
		l.Take(now, 10)
		now += 1e8
	}
	l.Take(now, 4) // the end of a block
	for _, tt := range []struct {
		name     string
		after    int64
		cost, n  int
		waitsFor int64
	}{
		{"all of a task that fits", 0, 6, 6, 0},
		{"a part of one that does not", 0, 10, 6, 0},
		{"less than a third is not worth a call", 0, 30, 0, 1e8},
		{"all of it when there is room", 1e8, 10, 10, 0},
	} {
		at := now + 1e8/2 + tt.after // half of the time until the first leaves the window
		n, ready := l.Part(at, tt.cost)
		if n != tt.n || ready-at > max(tt.waitsFor, 0) || (tt.n == 0) != (ready > at) {
			t.Errorf("%s: %d of %d items at %d ms, want %d", tt.name, n, tt.cost, (ready-at)/1e6, tt.n)
		}
	}
}
