package limit

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// shared makes a resource whose limits are shared, with a lane.
func shared(slots int, c ResourceConfig) (*Pool, *PoolResource, *Lane) {
	p := NewPool(slots)
	r := p.Resource(c)
	p.Share(r)
	return p, r, p.Lane(r, 0)
}

// takes starts tasks at one time until one is refused, and returns their number.
func takes(p *Pool, now int64, l *Lane, cost int) (n int, at int64) {
	for n < 1000 {
		at, ok := p.Take(now, l, cost, 1, false)
		if !ok {
			return n, at
		}
		n++
	}
	return n, Never
}

func TestNothingStartsWithoutAQuota(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    ResourceConfig
		give func(p *Pool, r *PoolResource, now, until int64)
		want Cause
	}{
		{"of a rate", ResourceConfig{Rate: 1000}, func(p *Pool, r *PoolResource, now, until int64) { p.SetQuota(now, r, 500, until) }, CauseRate},
		{"of a concurrency", ResourceConfig{Concurrency: 3}, func(p *Pool, r *PoolResource, now, until int64) { p.SetSlotQuota(now, r, 2, until) }, CauseConcurrency},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, r, l := shared(0, tt.c)
			refused := func(now int64) {
				t.Helper()
				if at, ok := p.Take(now, l, 1, 1, false); ok || at != Never || p.Cause(l) != tt.want {
					t.Fatalf("Take = %d, %v, cause %v; want a refusal without a time for %v", at, ok, p.Cause(l), tt.want)
				}
				if w := p.Wakes(nil); len(w) != 0 {
					t.Fatal("the lane was woken for nothing")
				}
			}
			refused(1)
			tt.give(p, r, 2, sec)
			if w := p.Wakes(nil); len(w) != 1 {
				t.Fatalf("a quota woke %d lanes, want the one that waits", len(w))
			}
			mustTake(t, p, 3, l)
			refused(sec)
			tt.give(p, r, sec+1, 3*sec)
			if w := p.Wakes(nil); len(w) != 1 {
				t.Fatalf("a renewed quota woke %d lanes, want the one that waits", len(w))
			}
			mustTake(t, p, 2*sec, l)
		})
	}
}

func TestALimitThatIsNotThereIsNotShared(t *testing.T) {
	p, _, l := shared(0, ResourceConfig{})
	if n, _ := takes(p, 1, l, 1); n != 1000 {
		t.Errorf("%d tasks started on a resource without limits, want all", n)
	}
}

func TestOneSlotQuotaAfterAnother(t *testing.T) {
	p, r, l := shared(0, ResourceConfig{Concurrency: 9})
	for _, tt := range []struct {
		tasks int64
		want  int
	}{{3, 3}, {5, 2}, {1, 0}} {
		p.SetSlotQuota(1, r, tt.tasks, sec)
		if n, at := takes(p, 1, l, 1); n != tt.want || at != Never {
			t.Errorf("with a quota of %d: %d tasks started, next at %d; want %d", tt.tasks, n, at, tt.want)
		}
	}
	for range 5 {
		p.Release(2, l)
	}
	if n, _ := takes(p, 2, l, 1); n != 1 {
		t.Errorf("%d tasks started after all had ended, want 1", n)
	}
}

func TestNoWindowHoldsMoreThanTheQuotaInForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, r, l := shared(0, ResourceConfig{Rate: 1000})
		now, until, quota := int64(1e18), int64(0), int64(0)
		var log []taken
		permit := int64(0)
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			switch rapid.IntRange(0, 13).Draw(t, "what") {
			case 0:
				quota = rapid.SampledFrom([]int64{0, 10, 50, 400, 1000}).Draw(t, "quota")
				until = now + rapid.Int64Range(0, 2*sec).Draw(t, "for")
				p.SetQuota(now, r, quota, until)
			case 1:
				permit = 10
				p.Permit(now, r, permit, now, now+10*ms)
			case 2:
				now += rapid.Int64Range(0, sec/2).Draw(t, "pause")
			case 3:
				r.lim.SetPace(now, rapid.SampledFrom([]float64{0, 30, 300, 3000}).Draw(t, "pace"))
			default:
				now += rapid.Int64Range(0, 5*ms).Draw(t, "step")
				at, ok := p.Take(now, l, 10, 1, false)
				switch {
				case !ok && at <= now:
					t.Fatalf("refused until %d, which is not after now, %d", at, now)
				case !ok:
				case permit > 0 && p.Observe(now, r).Used == inWindow(log, now): // it was used for this
					permit = 0
				default:
					log = append(log, taken{now, 10})
					if in := inWindow(log, now); in > quota || now >= until {
						t.Fatalf("a window holds %d with a quota of %d that lasts for %v", in, quota, time.Duration(until-now))
					}
				}
			}
		}
	})
}

func inWindow(log []taken, now int64) (in int64) {
	for _, x := range log {
		if x.at > now-sec {
			in += x.cost
		}
	}
	return in
}

func TestAPermitIsForOneUseAndForItsTime(t *testing.T) {
	for _, tt := range []struct {
		name string
		at   int64
		cost int
		want int
	}{
		{"before its time", 9 * ms, 5, 0},
		{"at its time", 10 * ms, 5, 1},
		{"in pieces", 12 * ms, 2, 2},
		{"for too much", 12 * ms, 6, 0},
		{"too late", 20 * ms, 5, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, r, l := shared(0, ResourceConfig{Rate: 1000})
			takes(p, ms, l, 5)
			p.Permit(2*ms, r, 5, 10*ms, 20*ms)
			if w := p.Wakes(nil); len(w) != 1 {
				t.Fatalf("a permit woke %d lanes, want the one that waits", len(w))
			}
			if n, _ := takes(p, tt.at, l, tt.cost); n != tt.want {
				t.Errorf("%d tasks started, want %d", n, tt.want)
			}
			if used := p.Observe(tt.at, r).Used; used != 0 {
				t.Errorf("a permit counts %d in the window, want nothing", used)
			}
		})
	}
}

func TestALaneIsToldWhenItsPermitBegins(t *testing.T) {
	p, r, l := shared(0, ResourceConfig{Rate: 1000})
	p.Permit(ms, r, 5, 10*ms, 20*ms)
	if _, at := takes(p, 2*ms, l, 5); at != 10*ms {
		t.Errorf("told to ask again at %d, want %d", at, 10*ms)
	}
}

func TestObserveTellsWhatIsLacking(t *testing.T) {
	p, r, a := shared(0, ResourceConfig{Rate: 1000, Concurrency: 100})
	b := p.Lane(r, 1)
	look := func(now int64, want Use) {
		t.Helper()
		if got := p.Observe(now, r); got != want {
			t.Errorf("at %d: Observe = %+v, want %+v", now, got, want)
		}
	}
	look(1, Use{})
	p.SetSlotQuota(2, r, 3, 9*sec)
	p.Take(3, a, 5, 7, false)
	look(4, Use{Busy: true, Weight: 7, Short: 3, Cost: 5})
	p.SetQuota(5, r, 1000, 9*sec)
	p.Take(6, a, 5, 7, false)
	p.Take(7, b, 2, 4, false)
	p.Take(7, a, 5, 7, false)
	look(8, Use{Used: 12, InFlight: 3, Busy: true, Weight: 11, Short: 3, Cost: 5}) // it has had work all the time
	p.Take(9, b, 2, 4, false)
	look(10, Use{Used: 12, InFlight: 3, Busy: true, Weight: 11, Short: 3, Cost: 5, Cramped: 9})
	p.Idle(11, a)
	look(12, Use{Used: 12, InFlight: 3, Busy: true, Weight: 4, Cramped: 9})
	p.Idle(13, b)
	look(2*sec, Use{InFlight: 3})
	p.Permit(2*sec, r, 6, 3*sec, 3*sec+1)
	look(2*sec, Use{InFlight: 3, Permit: 6})
	look(4*sec, Use{InFlight: 3})
}

func TestStirredTellsOfWhatIsWorthALook(t *testing.T) {
	p, r, l := shared(0, ResourceConfig{Name: "shared", Rate: 1000})
	own := p.Lane(p.Resource(ResourceConfig{Name: "own", Rate: 1}), 0)
	stirred := func(what string, want bool) {
		t.Helper()
		if got := p.Stirred(nil); slices.Contains(got, r) != want || len(got) > 1 {
			t.Errorf("%s: stirred = %v, want %v", what, len(got) > 0, want)
		}
	}
	takes(p, 1, own, 1)
	stirred("a resource that is not shared", false)
	p.SetQuota(1, r, 1000, 3)
	p.Take(2, l, 1, 1, false)
	stirred("work came", true)
	p.Observe(2, r)
	p.Take(3, l, 1, 1, false)
	stirred("a lane was refused that was not before", true)
	p.Observe(4, r)
	p.Take(5, l, 1, 1, false)
	stirred("it was refused again", false)
	p.Permit(6, r, 1, 6, 9*ms)
	p.Take(7, l, 2, 1, false)
	stirred("it was refused while a permit is left", false)
	p.Take(8, l, 1, 1, false)
	p.Take(9, l, 1, 1, false)
	stirred("the permit is used up and more is wanted", true)
	p.Idle(10, l)
	stirred("the work is done", true)
}

// TestLanesOnQuotasEndTheirWork is the same promise as without quotas: nobody
// sleeps while it could run. Quotas come and lapse at random.
func TestLanesOnQuotasEndTheirWork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.IntRange(0, 3).Draw(t, "slots"))
		r := w.p.Resource(ResourceConfig{Name: "r", Rate: 1000, Concurrency: rapid.IntRange(0, 4).Draw(t, "concurrency")})
		w.p.Share(r)
		for range rapid.IntRange(1, 4).Draw(t, "lanes") {
			w.add(r, worker{
				work: rapid.IntRange(1, 30).Draw(t, "work"), cost: rapid.IntRange(1, 5).Draw(t, "cost"),
				weight: 1, service: rapid.Int64Range(0, 100*ms).Draw(t, "service"),
			})
		}
		for range 20 {
			end := w.now + rapid.Int64Range(1, sec).Draw(t, "for")
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				w.p.SetQuota(w.now, r, rapid.Int64Range(0, 300).Draw(t, "quota"), end)
			case 1:
				w.p.SetSlotQuota(w.now, r, rapid.Int64Range(0, 4).Draw(t, "tasks"), end)
			case 2:
				w.p.Permit(w.now, r, 5, w.now, end)
			}
			w.deliver()
			w.runUntil(end)
			w.now = max(w.now, end)
		}
		w.p.SetQuota(w.now, r, 1000, Never)
		w.p.SetSlotQuota(w.now, r, 2, Never)
		w.deliver()
		for w.step() {
		}
		for _, x := range w.lanes {
			if x.work > 0 {
				t.Fatalf("lane %d sleeps with %d tasks left, cause %v", x.l.partition, x.work, x.l.cause)
			}
		}
	})
}

func BenchmarkSharedPool(b *testing.B) {
	p, r, l := shared(64, ResourceConfig{Rate: 1e6, Concurrency: 64})
	now := int64(1e18)
	p.SetQuota(now, r, 1e6, Never)
	p.SetSlotQuota(now, r, 64, Never)
	b.ReportAllocs()
	for b.Loop() {
		now += 110_000
		if _, ok := p.Take(now, l, 100, 1024, false); !ok {
			b.Fatal(p.Cause(l))
		}
		p.Release(now, l)
	}
}
