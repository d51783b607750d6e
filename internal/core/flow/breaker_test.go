package flow

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// calls ends n tasks one after the other, spread over a time.
func calls(b *Breaker, now, over int64, n int, failed func(i int) bool) int64 {
	for i := range n {
		now += over / int64(n)
		b.Ended(now, now, failed(i))
	}
	return now
}

func all(int) bool  { return true }
func none(int) bool { return false }

func TestBreakerOpensOnFailures(t *testing.T) {
	every := func(n int) func(int) bool { return func(i int) bool { return i%n == 0 } }
	for _, tt := range []struct {
		name string
		play func(b *Breaker, now int64)
		want Phase
	}{
		{"19 failures are too few for a moment", func(b *Breaker, now int64) { calls(b, now, 400*ms, 19, all) }, Closed},
		{"20 failures", func(b *Breaker, now int64) { calls(b, now, 400*ms, 20, all) }, Open},
		{"9 failures in a row", func(b *Breaker, now int64) { calls(b, now, 9*s, 9, all) }, Closed},
		{"10 failures in a row, however slowly", func(b *Breaker, now int64) { calls(b, now, 100*s, 10, all) }, Open},
		{"half of many", func(b *Breaker, now int64) { calls(b, now, 5*s, 1000, every(2)) }, Open},
		{"a third of many", func(b *Breaker, now int64) { calls(b, now, 60*s, 1000, every(3)) }, Closed},
		{"20 failures in a minute", func(b *Breaker, now int64) { calls(b, now, 120*s, 40, every(2)) }, Closed},
		{"20 failures after successes", func(b *Breaker, now int64) { calls(b, calls(b, now, s, 100, none), 400*ms, 20, all) }, Closed},
		{"two bad seconds after many good ones", func(b *Breaker, now int64) { calls(b, calls(b, now, 8*s, 8000, none), 2*s, 2000, all) }, Open},
		{"a bad second long ago", func(b *Breaker, now int64) {
			calls(b, calls(b, calls(b, now, 400*ms, 15, all), s, 1, none)+20*s, 400*ms, 15, all)
		}, Closed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := NewBreaker(1)
			tt.play(b, at0)
			if got := b.State(); got.Phase != tt.want {
				t.Errorf("breaker is %s (%s), want %s", got.Phase, got.Text, tt.want)
			}
		})
	}
}

// opened returns a breaker that has just opened, and the time.
func opened(t *testing.T) (*Breaker, int64) {
	t.Helper()
	b := NewBreaker(7)
	now := calls(b, at0, 400*ms, 20, all)
	st := b.State()
	if wait := st.Until - now; st.Phase != Open || st.Reason != Failing || wait < 800*ms || wait > 1200*ms {
		t.Fatalf("after 20 failures: %+v, want it open for a second, give or take a fifth", st)
	}
	if ok, at := b.Allow(now, 0); ok || at != st.Until {
		t.Fatalf("Allow = %v, %d while open, want no until %d", ok, at, st.Until)
	}
	return b, st.Until
}

// start starts as many tasks as are allowed, and returns how many are in flight then.
func start(t *testing.T, b *Breaker, now int64, inFlight int) int {
	t.Helper()
	for range 100 {
		ok, at := b.Allow(now, inFlight)
		if !ok {
			if at != Never {
				t.Fatalf("refused until %d while half-open, want a result to tell", at)
			}
			return inFlight
		}
		inFlight++
	}
	t.Fatal("no end of tasks is allowed")
	return 0
}

func TestHalfOpenBreakerComesBackInSteps(t *testing.T) {
	b, now := opened(t)
	for _, want := range []int{1, 2, 4, 8} {
		if got := start(t, b, now, 0); got != want {
			t.Fatalf("%d tasks in flight while half-open, want %d", got, want)
		}
		if b.Reopened() {
			t.Fatal("said to be in use again too soon")
		}
		sentAt := now
		now += 50 * ms
		for range want {
			b.Ended(now, sentAt, false)
		}
	}
	if st := b.State(); st.Phase != Closed || st.Reason != Recovered {
		t.Errorf("after 15 successes: %+v, want it closed", st)
	}
	if !b.Reopened() || b.Reopened() {
		t.Error("want to be told once that it is in use again")
	}
	if calls(b, now, 400*ms, 19, all); b.State().Phase != Closed {
		t.Error("failures from before the opening still count")
	}
}

func TestHalfOpenBreakerOpensAgainForLonger(t *testing.T) {
	b, now := opened(t)
	for _, want := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second} {
		start(t, b, now, 0)
		b.Ended(now+ms, now, true)
		st := b.State()
		wait := time.Duration(st.Until - now - ms)
		if st.Phase != Open || st.Reason != Relapsed || wait < want*8/10 || wait > want*12/10 {
			t.Fatalf("after a failed task: %+v for %v, want it open for about %v", st, wait, want)
		}
		now = st.Until
	}
}

func TestTasksOfBeforeTellAHalfOpenBreakerNothing(t *testing.T) {
	b, now := opened(t)
	const hung = 64
	if got := start(t, b, now, hung); got != hung+1 {
		t.Fatalf("%d in flight with %d that hang, want one more", got, hung)
	}
	for i := range hung {
		b.Ended(now+ms, now-s, i%2 == 0)
	}
	if st := b.State(); st.Phase != HalfOpen {
		t.Fatalf("results of before made it %+v, want half-open still", st)
	}
	if got := start(t, b, now+ms, 1); got != 1 {
		t.Errorf("%d in flight, want the 1 that finds out", got)
	}
	b.Ended(now+2*ms, now, false)
	if got := start(t, b, now+2*ms, 0); got != 2 {
		t.Errorf("%d in flight after the first success, want 2", got)
	}
}

func TestDownstreamThatFailsALittleIsNotLockedOut(t *testing.T) {
	for seed := range uint64(20) {
		b, now := opened(t)
		b.chance = seed
		rng := rand.New(rand.NewPCG(seed, 9))
		from := now
		for b.State().Phase != Closed && now < from+120*s {
			ok, at := b.Allow(now, 0)
			if ok {
				b.Ended(now+40*ms, now, rng.Float64() < 0.1)
				at = now + 41*ms
			}
			now = at
		}
		if b.State().Phase != Closed {
			t.Errorf("seed %d: a downstream that fails one task in ten is still locked out after two minutes", seed)
		}
	}
}

func TestBreakerByHand(t *testing.T) {
	b := NewBreaker(1)
	b.Force(at0, true, at0+60*s, "maintenance")
	if ok, at := b.Allow(at0+s, 0); ok || at != at0+60*s || !strings.Contains(b.State().Text, "maintenance") {
		t.Errorf("Allow = %v, %d; state %+v; want it open by hand for a minute", ok, at, b.State())
	}
	if ok, _ := b.Allow(at0+60*s, 0); !ok || b.State().Phase != HalfOpen {
		t.Errorf("after its time: %+v, want a task to find out", b.State())
	}
	b.Force(at0, false, at0+200*s, "")
	if calls(b, at0+61*s, s, 100, all); b.State().Phase != Closed || b.State().Reason != ByHand {
		t.Errorf("closed by hand, it became %+v", b.State())
	}
	b.Release(at0 + 70*s)
	if st := b.State(); st.Phase != Closed || st.Reason != Working {
		t.Errorf("released: %+v, want it closed and working by itself", st)
	}
	if calls(b, at0+71*s, s, 20, all); b.State().Phase != Open {
		t.Error("released, it does not open on failures")
	}
}

// Whatever happens, a breaker never stays shut for good: it allows a task, or
// says when, or a result will tell.
func TestBreakerNeverStaysShutForGood(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := NewBreaker(rapid.Uint64().Draw(t, "seed"))
		now := at0
		var running []int64
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			now += rapid.Int64Range(0, 300*ms).Draw(t, "pass")
			if rapid.IntRange(0, 2).Draw(t, "what") == 0 && len(running) > 0 {
				b.Ended(now, running[0], rapid.IntRange(0, 9).Draw(t, "fate") < 7)
				running = running[1:]
				continue
			}
			ok, at := b.Allow(now, len(running))
			switch {
			case ok:
				running = append(running, now)
			case at == Never && len(running) == 0:
				t.Fatalf("waits for a result though nothing is in flight: %+v", b.State())
			case at <= now, at != Never && at > now+15*s:
				t.Fatalf("asks to come back %v from now: %+v", time.Duration(at-now), b.State())
			}
			if st := b.State(); st.Text == "" || st.Reason == "" || strings.Contains(st.Text, "%!") {
				t.Fatalf("state %+v: want a reason and a sentence", st)
			}
		}
	})
}

func BenchmarkHotPath(b *testing.B) {
	br, l := NewBreaker(1), NewLatency(0, 1)
	var w Windows
	now := at0
	b.ReportAllocs()
	for b.Loop() {
		now += 10 * us
		br.Allow(now, 5)
		l.Bound(now)
		w.Sent(now, 10)
		w.Ended(now, now, 10, 0, 0)
		br.Ended(now, now, false)
		l.Ended(now, 20*us, 5)
	}
}

func TestAProbeByHandDoesNotWaitForItsTime(t *testing.T) {
	b := NewBreaker(1)
	calls(b, at0, s, 20, all)
	open := b.State()
	if open.Phase != Open || open.Outage.Since == 0 || open.Outage.Failed != open.Outage.Calls || open.Outage.Calls == 0 {
		t.Fatalf("state %+v, want it open, with the failed calls", open)
	}
	now := open.Until - s/2
	if ok, _ := b.Allow(now, 0); ok || !b.Try(now) {
		t.Fatalf("before its time: allowed %v, want a probe only when it is asked for", ok)
	}
	if ok, _ := b.Allow(now, 0); !ok || b.State().Phase != HalfOpen {
		t.Fatalf("asked for, no call starts: %+v", b.State())
	}
	if ok, _ := b.Allow(now, 1); ok {
		t.Error("more than one call starts")
	}
	b.Ended(now+1, now, true)
	again := b.State()
	if again.Phase != Open || again.Until <= now+1 || again.Outage.Since != open.Outage.Since || again.Outage.Probes != 1 {
		t.Errorf("after a probe that failed: %+v, want it open as before, with a next time", again)
	}
	if b.Force(now, true, now+60*s, "maintenance"); b.Try(now + s) {
		t.Error("a circuit that was opened by hand is probed")
	}
}
