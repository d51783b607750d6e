package limit

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// shared makes a gate whose limits are shared, and the list that tells of it.
func shared(c GateConfig) (*Gate, *Stirs) {
	g, s := NewGate(c), &Stirs{}
	g.Share(s)
	return g, s
}

func TestNothingStartsWithoutAQuota(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    GateConfig
		give func(g *Gate, now, until int64) bool
		want Cause
	}{
		{"of a rate", GateConfig{Rate: 1000}, func(g *Gate, now, until int64) bool { return g.SetQuota(now, 500, until) }, CauseRate},
		{"of a concurrency", GateConfig{Concurrency: 3}, func(g *Gate, now, until int64) bool { return g.SetSlotQuota(now, 2, until) }, CauseConcurrency},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, _ := shared(tt.c)
			refused := func(now int64) {
				t.Helper()
				if at, ok := g.Take(now, 1); ok || at != Never || g.Cause() != tt.want {
					t.Fatalf("Take = %d, %v, cause %v; want a refusal without a time for %v", at, ok, g.Cause(), tt.want)
				}
			}
			refused(1)
			if !tt.give(g, 2, sec) {
				t.Fatal("a quota was not said to let more go")
			}
			mustTake(t, g, 3)
			if tt.give(g, 4, sec) {
				t.Fatal("the same quota was said to let more go")
			}
			refused(sec)
			if !tt.give(g, sec+1, 3*sec) {
				t.Fatal("a renewed quota was not said to let more go")
			}
			mustTake(t, g, 2*sec)
		})
	}
}

func TestALimitThatIsNotThereIsNotShared(t *testing.T) {
	g, _ := shared(GateConfig{})
	if n, _ := takes(g, 1, 1); n != 1000 {
		t.Errorf("%d tasks started on a resource without limits, want all", n)
	}
}

func TestALimitThatIsSetLaterIsShared(t *testing.T) {
	g, _ := shared(GateConfig{})
	g.SetRate(1, 10)
	if n, _ := takes(g, 2, 1); n != 0 {
		t.Errorf("%d tasks started without a quota of the new rate", n)
	}
}

func TestOneSlotQuotaAfterAnother(t *testing.T) {
	g, _ := shared(GateConfig{Concurrency: 9})
	for _, tt := range []struct {
		tasks int64
		want  int
	}{{3, 3}, {5, 2}, {1, 0}} {
		g.SetSlotQuota(1, tt.tasks, sec)
		if n, at := takes(g, 1, 1); n != tt.want || at != Never {
			t.Errorf("with a quota of %d: %d tasks started, next at %d; want %d", tt.tasks, n, at, tt.want)
		}
	}
	for range 5 {
		g.Release(2)
	}
	if n, _ := takes(g, 2, 1); n != 1 {
		t.Errorf("%d tasks started after all had ended, want 1", n)
	}
}

func TestNoWindowHoldsMoreThanTheQuotaInForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, _ := shared(GateConfig{Rate: 1000})
		now, until, quota := int64(1e18), int64(0), int64(0)
		var log []taken
		permit := int64(0)
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			switch rapid.IntRange(0, 13).Draw(t, "what") {
			case 0:
				quota = rapid.SampledFrom([]int64{0, 10, 50, 400, 1000}).Draw(t, "quota")
				until = now + rapid.Int64Range(0, 2*sec).Draw(t, "for")
				g.SetQuota(now, quota, until)
			case 1:
				permit = 1
				g.Permit(10, now, now+10*ms)
			case 2:
				now += rapid.Int64Range(0, sec/2).Draw(t, "pause")
			case 3:
				g.SetPace(now, rapid.SampledFrom([]float64{0, 30, 300, 3000}).Draw(t, "pace"))
			default:
				now += rapid.Int64Range(0, 5*ms).Draw(t, "step")
				at, ok := g.Take(now, 10)
				switch {
				case !ok && at <= now:
					t.Fatalf("refused until %d, which is not after now, %d", at, now)
				case !ok:
				case at != Never: // by the permit
					permit--
					if permit < 0 {
						t.Fatal("a permit was used that is not there")
					}
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
			g, _ := shared(GateConfig{Rate: 1000})
			takes(g, ms, 5)
			g.Permit(5, 10*ms, 20*ms)
			if n, _ := takes(g, tt.at, tt.cost); n != tt.want {
				t.Errorf("%d tasks started, want %d", n, tt.want)
			}
			if used := g.Observe(tt.at).Used; used != 0 {
				t.Errorf("a permit counts %d in the window, want nothing", used)
			}
		})
	}
}

func TestAPermitSaysWhenItBeginsAndEnds(t *testing.T) {
	g, _ := shared(GateConfig{Rate: 1000})
	g.Permit(5, 10*ms, 20*ms)
	if _, at := takes(g, 2*ms, 5); at != 10*ms {
		t.Errorf("told to ask again at %d, want %d", at, 10*ms)
	}
	if at, ok := g.Take(11*ms, 5); !ok || at != 20*ms {
		t.Errorf("Take = %v, to be started by %d, want by %d", ok, at, 20*ms)
	}
}

func TestObserveTellsWhatIsLacking(t *testing.T) {
	g, _ := shared(GateConfig{Rate: 1000, Concurrency: 100})
	look := func(now int64, want Use) {
		t.Helper()
		if got := g.Observe(now); got != want {
			t.Errorf("at %d: Observe = %+v, want %+v", now, got, want)
		}
	}
	look(1, Use{})
	g.SetSlotQuota(2, 3, 9*sec)
	g.Take(3, 5)
	look(4, Use{Busy: true, Short: 3, Cost: 5})
	g.SetQuota(5, 1000, 9*sec)
	g.Take(6, 5)
	g.Take(7, 2)
	g.Take(7, 5)
	look(8, Use{Used: 12, InFlight: 3, Busy: true, Short: 3, Cost: 5}) // it has had work all the time
	g.Take(9, 2)
	look(10, Use{Used: 12, InFlight: 3, Busy: true, Cramped: 9})
	g.Idle(11)
	look(2*sec, Use{InFlight: 3})
	g.Permit(6, 3*sec, 3*sec+1)
	look(2*sec, Use{InFlight: 3, Permit: 6})
	look(4*sec, Use{InFlight: 3})
}

func TestStirsTellOfWhatIsWorthALook(t *testing.T) {
	g, s := shared(GateConfig{Rate: 1000})
	stirred := func(what string, want bool) {
		t.Helper()
		if got := s.Take(nil); slices.Contains(got, g) != want || len(got) > 1 || s.Any() {
			t.Errorf("%s: stirred = %v, want %v", what, len(got) > 0, want)
		}
	}
	g.SetQuota(1, 1000, 3)
	g.Take(2, 1)
	stirred("work came", true)
	g.Observe(2)
	g.Take(3, 1)
	stirred("a task was refused, and none was before", true)
	g.Observe(4)
	g.Take(5, 1)
	stirred("one was refused again", false)
	g.Permit(1, 6, 9*ms)
	g.Take(7, 2)
	stirred("one was refused while a permit is left", false)
	g.Take(8, 1)
	g.Take(9, 1)
	stirred("the permit is used up and more is wanted", true)
	g.Idle(10)
	stirred("the work is done", true)
}

// A node that was away for so long that its quota has lapsed needs another one, whatever pace
// its downstream was found to take.
func TestAPaceDoesNotHideThatAQuotaIsMissing(t *testing.T) {
	for _, tt := range []struct {
		name  string
		quota int64
		until int64
	}{
		{"it has lapsed", 66, sec},
		{"it is nothing", 0, 100 * sec},
		{"it is less than a task", 4, 100 * sec},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, s := shared(GateConfig{Rate: 300})
			g.SetQuota(1, 66, sec)
			g.SetPace(1, 52)
			if _, ok := g.Take(2, 5); !ok {
				t.Fatal("nothing starts with a quota")
			}
			g.SetQuota(3, tt.quota, tt.until)
			now := 14 * sec
			g.Observe(now)
			if at, ok := g.Take(now, 5); ok || at != Never {
				t.Fatalf("Take = %d, %v without a quota; want a refusal without a time", at, ok)
			}
			if !s.Any() {
				t.Error("the gate did not ask for a look")
			}
			if u := g.Observe(now + ms); u.Short != now || u.Cost != 5 {
				t.Errorf("Observe = %+v, want it short of 5 since %d", u, now)
			}
		})
	}
}

func TestPermitsKeepToAPace(t *testing.T) {
	g, _ := shared(GateConfig{Rate: 300})
	now := 14 * sec
	g.SetPace(now, 50) // and no quota
	g.Permit(300, now, now+sec)
	items := 0
	for at := now; at < now+sec; at += ms {
		if _, ok := g.Take(at, 5); ok {
			items += 5
			g.Release(at)
		}
	}
	if items < 45 || items > 60 {
		t.Errorf("%d items started by a permit in a second at a pace of 50", items)
	}
}
