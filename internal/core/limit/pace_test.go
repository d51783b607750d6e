package limit

import (
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPaceSpreadsTheStarts(t *testing.T) {
	for _, tt := range []struct {
		name string
		rate float64
		pace float64
		cost int
	}{
		{"one by one", 10_000, 1000, 1},
		{"by tasks", 10_000, 4000, 100},
		{"without a rate of its own", 0, 4000, 100},
		{"less than one task in its catch-up", 10_000, 150, 100},
		{"a slow rate", 10, 0.5, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := New(tt.rate)
			now := int64(1e18)
			l.Busy(now)
			log := drain(l, now, ones(50)...)
			now = log[len(log)-1].at + sec
			l.SetPace(now, tt.pace)
			log = nil
			for from := now; now < from+20*sec; {
				now = max(now, l.Ready(now, tt.cost))
				l.Take(now, tt.cost)
				log = append(log, taken{now, int64(tt.cost)})
			}
			if got, want := float64(len(log)*tt.cost), 20*tt.pace; got < 0.97*want || got > 1.01*want+2*float64(tt.cost) {
				t.Errorf("%v items started in 20 s, want %v", got, want)
			}
			span := 20 * ms
			if got, want := peak(log, span), int64(tt.pace*0.025)+2*int64(tt.cost); got > want {
				t.Errorf("%d items started within %v, want at most %d", got, time.Duration(span), want)
			}
		})
	}
}

// A busy machine starts tasks up to 15 ms late.
func TestLateStartsOfLargeTasksLoseNothingOfAPace(t *testing.T) {
	l := New(300)
	now, items := int64(1e18), 0
	l.SetPace(now, 287)
	rng := rand.New(rand.NewPCG(1, 2))
	for end := now + 60*sec; now < end; items += 23 {
		now = max(now, l.Ready(now, 23)) + rng.Int64N(15*ms)
		l.Take(now, 23)
	}
	if got := float64(items) / 60; got < 0.99*287 || got > 1.01*287 {
		t.Errorf("%.0f items/s at a pace of 287", got)
	}
}

func TestTheSlowerOfRateAndPaceCounts(t *testing.T) {
	for _, tt := range []struct{ rate, pace, want float64 }{
		{100, 1000, 100}, {1000, 100, 100}, {100, 0, 100},
	} {
		l := New(tt.rate)
		l.SetPace(1, tt.pace)
		if got := l.Pace(); got != tt.pace {
			t.Errorf("Pace() = %v, want %v", got, tt.pace)
		}
		log := drain(l, int64(1e18), ones(int(10*tt.want))...)
		if got := float64(log[len(log)-1].at-log[0].at) / 1e9; got < 9.8 || got > 10.1 {
			t.Errorf("rate %v, pace %v: 10 s of work took %.2f s", tt.rate, tt.pace, got)
		}
	}
}

func TestPaceOnAQuota(t *testing.T) {
	l := New(1000)
	now := int64(1e18)
	l.setQuota(now, 400)
	l.SetPace(now, 200)
	for _, tt := range []struct {
		quota int64
		want  float64
	}{{400, 200}, {1000, 200}, {100, 100}, {300, 200}} {
		l.setQuota(now, tt.quota)
		now = l.Ready(now, 1) + 2*sec // what the windows still hold
		log := drain(l, now, ones(1000)...)
		now = log[len(log)-1].at
		if got := 1000 / (float64(now-log[0].at) / 1e9); got < 0.97*tt.want || got > 1.03*tt.want {
			t.Errorf("a quota of %d with a pace of 200: %.1f items/s, want %.0f", tt.quota, got, tt.want)
		}
	}
}

// A pace that is changed every quarter of a second, as a rule does, must neither
// lose nor grant starts by the change itself.
func TestChangesOfPaceCostNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cost := rapid.SampledFrom([]int{1, 10, 100}).Draw(t, "cost")
		l := New(rapid.SampledFrom([]float64{0, 5000}).Draw(t, "rate"))
		now := int64(1e18)
		l.Busy(now)
		started, due := 0.0, 0.0
		for range rapid.IntRange(20, 60).Draw(t, "changes") {
			pace := rapid.Float64Range(500, 5000).Draw(t, "pace")
			l.SetPace(now, pace)
			until := now + 250*ms
			due += pace / 4
			for at := max(now, l.Ready(now, cost)); at < until; at = max(now, l.Ready(now, cost)) {
				now = at
				l.Take(now, cost)
				started += float64(cost)
			}
			now = until
		}
		if slack := 0.02*due + 2*float64(cost) + 50; started < due-slack || started > due+slack {
			t.Fatalf("%v items started, want %v", started, due)
		}
	})
}

func TestWithoutAPaceTheCatchUpIsBack(t *testing.T) {
	l := New(1000)
	now := int64(1e18)
	l.Busy(now)
	stalled := func() (n int) {
		log := drain(l, now, ones(1500)...)
		now = log[len(log)-1].at + 60*ms
		for ; l.Ready(now, 1) <= now; n++ {
			l.Take(now, 1)
		}
		return n
	}
	if n := stalled(); n < 60 || n > 61 {
		t.Errorf("%d items started at once after a stall of 60 ms, want 60", n)
	}
	l.SetPace(now, 500)
	if n := stalled(); n < 2 || n > 4 {
		t.Errorf("%d items started at once after a stall at a pace of 500/s, want those of 5 ms", n)
	}
	l.SetPace(now, 0)
	if n := stalled(); n < 60 || n > 61 {
		t.Errorf("%d items started at once after a stall without a pace, want 60", n)
	}
}

func TestAnUnlimitedLimiterIsFreeAgainWithoutItsPace(t *testing.T) {
	l := New(0)
	l.SetPace(sec, 10)
	drain(l, sec, 100)
	if at := l.Ready(2*sec, 1); at < 10*sec {
		t.Errorf("100 items at a pace of 10/s are paid for at %v, want after 10 s", time.Duration(at))
	}
	l.SetPace(2*sec, 0)
	if at := l.Ready(2*sec, 1); at > 2*sec {
		t.Errorf("ready at %v without a pace, want now", time.Duration(at))
	}
}
