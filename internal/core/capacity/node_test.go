package capacity

import (
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/limit"
	"github.com/weirhq/weir/internal/core/sched"
)

const hour = int64(time.Hour)

// work gives a party a bulk action of a tenant with so many single items on a resource.
func work(p *Party, now int64, tenant string, r weir.Resource, items int64) *sched.Entry {
	e := p.AddEntry(p.AddBulk(tenant, sched.BulkConfig{Tier: 2, Submit: now}), p.Resource(r), 0, nil)
	p.Update(now, e, 1, items-1)
	return e
}

// openParty is a party whose work may start.
func openParty(n *Node, now int64) *Party {
	p := n.Join(nil)
	p.SetOpen(now, true)
	return p
}

// takeAll takes all that may start now, with one item each, and leaves so many.
func takeAll(p *Party, now, left int64) (picks []sched.Pick) {
	for {
		pick, ok := p.Next(now)
		if !ok {
			return picks
		}
		picks = append(picks, pick)
		p.Update(now, pick.Entry, 1, left)
	}
}

func TestWhatAFormerOwnerStartedCountsAgainstTheRate(t *testing.T) {
	const window = int64(time.Second)
	n := New(Config{Slots: 8})
	p := openParty(n, hour)
	limited := work(p, hour, "a", weir.Resource{Name: "limited", Rate: 10}, 100)
	n.Former(hour) // another partition is taken over, after the resource was made
	later := work(p, hour, "a", weir.Resource{Name: "later", Rate: 10}, 100)
	free := work(p, hour, "a", weir.Resource{Name: "free"}, 1)
	if pick, ok := p.Next(hour + 1); !ok || pick.Entry != free {
		t.Fatalf("next = %v, %v; want the one without a rate", pick, ok)
	}
	p.Update(hour+1, free, 0, 0)
	if _, ok := p.Next(hour + 1); ok || p.Wake() != hour+window || p.Cause(limited) != sched.CauseRate || p.Cause(later) != sched.CauseRate {
		t.Errorf("something starts = %v, wake %d, causes %v and %v; want nothing until %d, for the rate", ok, p.Wake(), p.Cause(limited), p.Cause(later), hour+window)
	}
	if got := takeAll(p, hour+window, 100); len(got) == 0 {
		t.Error("the window is over and nothing may start")
	}
}

// The keeper of a quota learns the size of a task even if the resource is woken before the first Next.
func TestAPermitIsAskedForForAWholeTask(t *testing.T) {
	n := New(Config{Slots: 8, Shared: true})
	p := openParty(n, hour)
	r := p.Resource(weir.Resource{Name: "limited", Rate: 500})
	e := p.AddEntry(p.AddBulk("a", sched.BulkConfig{Tier: 2, Submit: hour}), r, 0, nil)
	p.Update(hour, e, 5, 0)
	r.SetQuota(hour, 0, 2*hour)
	if _, ok := p.Next(hour); ok {
		t.Fatal("something starts without a quota")
	}
	if v := r.Observe(hour, false); v.Cost != 5 {
		t.Errorf("so many items are wanted at once: %d, want 5", v.Cost)
	}
}

func TestASharedLimitWaitsForItsQuotaAndForNothingElse(t *testing.T) {
	n := New(Config{Slots: 8, Shared: true})
	n.Former(hour)
	p := openParty(n, hour)
	e := work(p, hour, "a", weir.Resource{Name: "limited", Rate: 10}, 100)
	r := p.Resource(weir.Resource{Name: "limited"})
	if _, ok := p.Next(hour); ok || p.Wake() != limit.Never || p.Cause(e) != sched.CauseRate {
		t.Errorf("something starts = %v, wake %d, cause %v; want nothing until there is a quota", ok, p.Wake(), p.Cause(e))
	}
	if got := n.Stirred(nil); len(got) != 1 || got[0] != r {
		t.Errorf("stirred = %v, want the resource with new work", got)
	}
	n.Calls(nil)
	r.SetQuota(hour+1, 10, hour+int64(time.Second))
	if got := n.Calls(nil); len(got) != 1 || got[0] != p {
		t.Errorf("called = %v, want the party", got)
	}
	if _, ok := p.Next(hour + 2); !ok {
		t.Error("with a quota nothing starts; the books know what others used")
	}
}

// A party's loop reads its clock before it comes to the queue. What it then takes must
// not count as older than what others have taken meanwhile, nor say that it started then.
func TestALimitHoldsWhereClocksAreStale(t *testing.T) {
	const rate, window = 600, int64(time.Second)
	n := New(Config{})
	api := weir.Resource{Name: "api", Rate: rate}
	fresh, stale := openParty(n, hour), openParty(n, hour)
	work(fresh, hour, "a", api, 1e6)
	work(stale, hour, "b", api, 1e6)
	var starts, told []int64
	turn := []*Party{fresh, stale}
	for at := hour; at < hour+5*window; at += window / 1000 {
		turn[0], turn[1] = turn[1], turn[0]
		for _, p := range turn {
			now := at
			if p == stale {
				now -= 60 * window / 1000 // what its loop has read
			}
			for _, pick := range takeAll(p, now, 1e6) {
				starts, told = append(starts, at), append(told, pick.Start)
				p.Done(now, pick, &Ending{Service: 1})
			}
		}
	}
	for name, starts := range map[string][]int64{"by the clock": starts, "as told": told} {
		if most := mostIn(starts, window); most > rate || len(starts) < 5*rate*97/100 {
			t.Errorf("%s: %d starts in a window of %d, %d in all; want at most %d, and nearly all of %d", name, most, window, len(starts), rate, 5*rate)
		}
	}
}

// mostIn is the most of several times that lie in one window.
func mostIn(times []int64, window int64) (most int) {
	slices.Sort(times)
	first := 0
	for i, at := range times {
		for times[first] <= at-window {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// Tiers and weights hold whatever partitions the tenants' work lies in.
func TestPartiesAreServedInOneOrder(t *testing.T) {
	const rate = 1200
	n := New(Config{})
	api := weir.Resource{Name: "api", Rate: rate}
	got := map[string]int{}
	var parties []*Party
	for i, tier := range []int{0, 1, 2, 3} {
		p := openParty(n, hour)
		name := string(rune('a' + i))
		p.SetTenant(hour, name, TenantLimits{})
		e := p.AddEntry(p.AddBulk(name, sched.BulkConfig{Tier: tier, Submit: hour}), p.Resource(api), 0, name)
		p.Update(hour, e, 1, 1e6)
		parties = append(parties, p)
	}
	for at := hour; at < hour+60*int64(time.Second); at += int64(time.Millisecond) {
		for _, p := range parties {
			for _, pick := range takeAll(p, at, 1e6) {
				got[pick.Entry.Data.(string)]++
				p.Done(at, pick, &Ending{Service: 1})
			}
		}
	}
	for name, want := range map[string]float64{"a": 6, "b": 3, "c": 2, "d": 1} {
		if is := float64(got[name]) / (60 * rate) * 12; is < 0.98*want || is > 1.02*want {
			t.Errorf("tier of %s got %.3f of 12 parts, want %v", name, is, want)
		}
	}
}

func TestAPartyThatLeavesTakesItsWorkWithIt(t *testing.T) {
	n := New(Config{Slots: 1})
	first, second := openParty(n, hour), openParty(n, hour)
	e := work(first, hour, "a", weir.Resource{Name: "api"}, 10)
	picks := takeAll(first, hour, 8)
	if len(picks) != 1 {
		t.Fatalf("%d tasks with one slot", len(picks))
	}
	waits := work(second, hour, "b", weir.Resource{Name: "api"}, 1)
	if _, ok := second.Next(hour + 1); ok {
		t.Fatal("two tasks with one slot")
	}
	second.Wake()
	first.RemoveBulk(hour+2, e.Bulk())
	first.Leave(hour + 2)
	n.Calls(nil)
	first.Done(hour+3, picks[0], &Ending{Silent: true, Service: 3})
	if got := n.Calls(nil); len(got) != 1 || got[0] != second {
		t.Errorf("called = %v: a task that outlived its party has freed a slot", got)
	}
	if pick, ok := second.Next(hour + 3); !ok || pick.Entry != waits {
		t.Errorf("next = %v, %v; want the work of the party that is left", pick, ok)
	}
}

// TestWorkBehindTheFirstCallSaysSo: no limit holds it back.
func TestWorkBehindTheFirstCallSaysSo(t *testing.T) {
	n := New(Config{})
	p := openParty(n, hour)
	e := work(p, hour, "a", weir.Resource{Name: "api"}, 10)
	p.Probe(p.Resource(weir.Resource{Name: "api"}))
	first := takeAll(p, hour, 9)
	if got := p.Cause(e); len(first) != 1 || got != sched.CauseFirstCall {
		t.Errorf("%d tasks start, and the others wait for %v; want one, and %v", len(first), got, sched.CauseFirstCall)
	}
}
