package quota

import (
	"errors"
	"testing"
	"time"

	"github.com/weirhq/weir/store"
)

const (
	ms  = int64(time.Millisecond)
	sec = int64(time.Second)
)

var errStore = errors.New("the store does not answer")

func newKeeper() *Keeper { return NewKeeper(rate(1000), "n", 1500*time.Millisecond, 10) }

// hungry is a node with work that the limit has held back for so long.
func hungry(now int64, since time.Duration, used int64) View {
	return View{Busy: true, Short: now - int64(since), Cost: 10, Weight: 7, Used: used}
}

// content is a node with work that nothing holds back.
func content(used int64) View { return View{Busy: true, Weight: 7, Used: used} }

// holding brings a keeper to where it has a quota that it asked for at now.
func holding(t *testing.T, now, quota int64) *Keeper {
	t.Helper()
	k := newKeeper()
	if a := k.Next(now, content(0)); !a.Hold {
		t.Fatalf("Next = %+v, want a report", a)
	}
	k.Held(now+ms, quota, nil)
	return k
}

func TestAnIdleKeeperIsSilent(t *testing.T) {
	k := newKeeper()
	if a := k.Next(sec, View{}); a != (Ask{Wake: never}) {
		t.Errorf("Next = %+v, want nothing for ever", a)
	}
}

func TestFirstWorkAsksForEverythingAtOnce(t *testing.T) {
	a := newKeeper().Next(sec, hungry(sec, 0, 0))
	if !a.Hold || a.Draw != 10 || a.TTL != 1500*time.Millisecond {
		t.Errorf("Next = %+v, want a report and a permit for what waits", a)
	}
	if h := (store.Holding{Node: "n", Want: 1, Weight: 7}); a.Holding != h {
		t.Errorf("Holding = %+v, want %+v", a.Holding, h)
	}
}

func TestWhenTheNextReportIsDue(t *testing.T) {
	const now = 100 * sec
	for _, tt := range []struct {
		name  string
		view  View
		after time.Duration // the last report
		want  time.Duration // of the next after the last
	}{
		{"in use", content(50), 10 * time.Millisecond, 250 * time.Millisecond},
		{"it must not be late", content(50), 250 * time.Millisecond, 250 * time.Millisecond},
		{"its use drains", content(150), 10 * time.Millisecond, 50 * time.Millisecond},
		{"it has run out of work, which may be a gap", View{Used: 50}, 10 * time.Millisecond, 110 * time.Millisecond},
		{"it is held back, which may be pacing", hungry(now, 0, 100), 0, 200 * time.Millisecond},
		{"it is held back truly", hungry(now, time.Second, 100), 10 * time.Millisecond, 50 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := holding(t, now, 100)
			k.hold.soon = false // that the quota has just grown is another matter
			at := now + int64(tt.after)
			a := k.Next(at, tt.view)
			if due := at >= now+int64(tt.want); a.Hold != due || !due && a.Wake != now+int64(tt.want) {
				t.Errorf("report %v, next look %v after the last report; want a report after %v", a.Hold, time.Duration(a.Wake-now), tt.want)
			}
		})
	}
}

func TestAGrowingQuotaIsAskedForAgainSoon(t *testing.T) {
	k := holding(t, sec, 100)
	if a := k.Next(sec+2*ms, content(10)); a.Wake != sec+reportSoon {
		t.Errorf("next report after %v, want 50ms: there may be more", time.Duration(a.Wake-sec))
	}
}

func TestAQuotaLastsFromTheQuestion(t *testing.T) {
	k := newKeeper()
	k.Next(sec, content(0))
	k.Held(sec+400*ms, 100, nil)
	if units, until := k.Quota(); units != 100 || until != sec+1485*ms {
		t.Errorf("quota %d until %v after the question, want 100 until 1.485s", units, time.Duration(until-sec))
	}
	k.Next(sec+500*ms, content(80))
	k.Held(sec+501*ms, 40, nil)
	if units, _ := k.Quota(); units != 40 {
		t.Errorf("quota = %d after an answer of 40: it must be lower at once", units)
	}
}

func TestWhatANodeSaysThatItHolds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after int64
		used  int64
		want  int64
	}{
		{"its quota", 300 * ms, 20, 100},
		{"what it used, if that is more", 300 * ms, 130, 130},
		{"what it used, if the quota has lapsed", 2 * sec, 20, 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := holding(t, sec, 100).Next(sec+tt.after, content(tt.used))
			if !a.Hold || a.Holding.Held != tt.want || a.Holding.Used != tt.used {
				t.Errorf("Holding = %+v, want held %d", a.Holding, tt.want)
			}
		})
	}
}

func TestANodeWithoutWorkGivesEverythingBack(t *testing.T) {
	k := holding(t, sec, 100)
	var last Ask
	reports, now := 0, sec+2*ms
	for now < 10*sec {
		view := View{Used: max(20-(now-sec)*20/sec, 1)} // some is in a long window
		a := k.Next(now, view)
		if a.Hold {
			reports, last = reports+1, a
			k.Held(now, 1, nil)
			a = k.Next(now, view)
		}
		now = a.Wake
	}
	if last.TTL != 0 || last.Holding.Held != 1 || last.Holding.Want != 0 {
		t.Errorf("last report = %+v, want a ttl of 0 and what it used", last)
	}
	if now != never || reports > 30 {
		t.Errorf("%d reports, next look at %v; want silence after 2 s", reports, time.Duration(now))
	}
	if a := k.Next(20*sec, content(0)); !a.Hold || a.TTL == 0 {
		t.Errorf("Next = %+v when there is work again, want a report", a)
	}
}

// Work with a rate of its own wants something, and then nothing for a while: its node keeps its quota meanwhile, and gives
// it up when the work has ended.
func TestWorkThatComesInGapsKeepsItsQuota(t *testing.T) {
	now := 100 * sec
	k := holding(t, now, 100)
	said := func(v View) (want int64) {
		want = -1
		if a := k.Next(now, v); a.Hold {
			want = a.Holding.Want
			k.Held(now+ms, 100, nil)
		}
		return want
	}
	idle := View{Weight: 7, Used: 75}
	for i := range 40 {
		for range 25 { // nothing is wanted for a quarter of a second
			now += 10 * ms
			if want := said(idle); want == 0 && i > 1 {
				t.Fatalf("gap %d: the node says that it wants nothing", i)
			}
		}
		now += 10 * ms
		said(content(75))
	}
	for until := now + 2*sec; now < until; now += 10 * ms {
		if said(idle) == 0 {
			return
		}
	}
	t.Error("the node never says that it wants nothing any more")
}

func TestSlotsInUseAreNotGivenBack(t *testing.T) {
	k := NewKeeper(slots(10), "n", 10*time.Second, 1)
	k.Next(sec, content(0))
	k.Held(sec, 5, nil)
	k.Next(2*sec, View{Used: 2})
	k.Held(2*sec, 5, nil)
	if a := k.Next(5*sec, View{Used: 2}); !a.Hold || a.TTL == 0 {
		t.Errorf("Next = %+v with tasks in flight, want the quota renewed", a)
	}
	if _, speak := k.Leave(View{Used: 2}); speak {
		t.Error("a node that stops with tasks in flight gave their slots back")
	}
}

func TestAStoreThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	k := holding(t, sec, 100)
	now := sec + reportEvery
	for _, want := range []int64{50 * ms, 100 * ms, 200 * ms, 250 * ms, 250 * ms} {
		if a := k.Next(now, content(10)); !a.Hold {
			t.Fatalf("Next = %+v, want a report", a)
		}
		if a := k.Next(now+10*ms, content(10)); a.Hold {
			t.Fatal("two reports are on their way at once")
		}
		k.Held(now+20*ms, 0, errStore)
		a := k.Next(now+20*ms, content(10))
		if a.Wake-now != want {
			t.Errorf("asked again after %v, want %v", time.Duration(a.Wake-now), time.Duration(want))
		}
		now = a.Wake
	}
	if units, until := k.Quota(); units != 100 || until != sec+1485*ms {
		t.Errorf("quota %d until %v: no answer must change nothing", units, time.Duration(until-sec))
	}
}

func TestMoreIsWantedTheLongerItIsMissing(t *testing.T) {
	const now = 10 * sec
	for _, tt := range []struct {
		name string
		view View
		want int64
	}{
		{"a little more than is used", content(100), 125},
		{"and no more for what may be pacing", hungry(now, 150*time.Millisecond, 100), 125},
		{"a chunk", hungry(now, 200*time.Millisecond, 100), 135},
		{"twice as much", hungry(now, 275*time.Millisecond, 100), 145},
		{"everything", hungry(now, time.Second, 100), 1000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if a := newKeeper().Next(now, tt.view); a.Holding.Want != tt.want {
				t.Errorf("want = %d, want %d", a.Holding.Want, tt.want)
			}
		})
	}
}

func TestAPermitMayBeUsedOnlyWhileItCounts(t *testing.T) {
	for _, tt := range []struct {
		name        string
		trip, after time.Duration
		from, until time.Duration // from the question
		ok          bool
	}{
		{"at once", 0, 0, 0, 10 * time.Millisecond, true},
		{"after a round trip", 3 * time.Millisecond, 0, 3 * time.Millisecond, 10 * time.Millisecond, true},
		{"ahead of its time", 3 * time.Millisecond, 50 * time.Millisecond, 53 * time.Millisecond, 60 * time.Millisecond, true},
		{"too late", 10 * time.Millisecond, 0, 0, 0, false},
		{"too late for any time", 12 * time.Millisecond, 50 * time.Millisecond, 0, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKeeper()
			k.Next(sec, hungry(sec, 0, 0))
			units, from, until, ok := k.Drew(sec+int64(tt.trip), tt.after, true, nil)
			if ok != tt.ok || ok && (units != 10 || from != sec+int64(tt.from) || until != sec+int64(tt.until)) {
				t.Errorf("Drew = %d from %v until %v, %v; want from %v until %v, %v",
					units, time.Duration(from-sec), time.Duration(until-sec), ok, tt.from, tt.until, tt.ok)
			}
		})
	}
}

func TestWhenNoPermitIsAskedFor(t *testing.T) {
	const now = 10 * sec
	for _, tt := range []struct {
		name string
		k    func() *Keeper
		view View
	}{
		{"nothing is held back", newKeeper, content(5)},
		{"one has been asked for", func() *Keeper { k := newKeeper(); k.Next(now-ms, hungry(now-ms, 0, 0)); return k }, hungry(now, 0, 0)},
		{"one was refused a moment ago", func() *Keeper {
			k := newKeeper()
			k.Next(now-2*ms, hungry(now-2*ms, 0, 0))
			k.Drew(now-ms, 20*time.Millisecond, false, nil)
			return k
		}, hungry(now, 0, 0)},
		{"one is left", func() *Keeper {
			k := newKeeper()
			k.Next(now-2*ms, hungry(now-2*ms, 0, 0))
			k.Drew(now-ms, 0, true, nil)
			return k
		}, View{Busy: true, Short: now, Cost: 10, Permit: 10}},
		{"the node has all there is", func() *Keeper { return holding(t, now-10*ms, 1000) }, hungry(now, 0, 0)},
		{"it is a concurrency", func() *Keeper { return NewKeeper(slots(3), "n", time.Second, 1) }, hungry(now, 0, 0)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if a := tt.k().Next(now, tt.view); a.Draw != 0 {
				t.Errorf("Next asks for a permit of %d, want none", a.Draw)
			}
		})
	}
}

func TestPermitsGrowWhileTheyAreUsedUp(t *testing.T) {
	k := NewKeeper(rate(10_000), "n", 1500*time.Millisecond, 1)
	now, view := sec, View{Busy: true, Short: sec, Cost: 1, Weight: 1}
	for _, want := range []int64{1, 2, 4, 8, 16, 32, 64, 100, 100} {
		if a := k.Next(now, view); a.Draw != want {
			t.Fatalf("drew %d, want %d", a.Draw, want)
		}
		k.Drew(now, 0, true, nil)
		now += ms
	}
	left := view
	left.Permit = 60
	k.Next(now, left)
	if a := k.Next(now+twiceDrawFor, left); a.Draw != 1 {
		t.Errorf("drew %d after most of a permit was left over, want 1", a.Draw)
	}
}

const twiceDrawFor = 2 * int64(store.DrawFor)

// TestAFloodLeavesPermitsForOthers: a node with endless work may use up all permits, but another
// node that starts to work gets one soon.
func TestAFloodLeavesPermitsForOthers(t *testing.T) {
	tab := New(rate(1000))
	if err := tab.SetTargets(1, map[string]int64{"n": 900}); err != nil {
		t.Fatal(err)
	}
	k := newKeeper()
	var drawn int
	var asked, longest int64
	for now := sec; now < 11*sec; now += ms {
		a := k.Next(now, hungry(now, 10*time.Second, 900))
		if a.Hold {
			k.Held(now, tab.Hold(now, a.Holding, a.TTL), nil)
		}
		if a.Draw > 0 {
			after, ok := tab.Draw(now, a.Draw)
			k.Drew(now, after, ok, nil)
			if ok {
				drawn++
			}
		}
		if asked == 0 && now%(370*ms) == 0 && now > 3*sec {
			asked = now
		}
		if asked != 0 {
			if after, ok := tab.Draw(now, 10); ok {
				longest = max(longest, now+int64(after)-asked)
				asked = 0
			}
		}
	}
	if longest > 400*ms || drawn < 65 {
		t.Errorf("another node waited for up to %v, and the flood drew %d permits; want 400 ms at most, and 65 of 80 at least", time.Duration(longest), drawn)
	}
}
