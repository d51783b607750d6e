package sched

import (
	"fmt"
	"testing"
)

// yard is a queue in which slots are all there is to share, and tasks that run.
type yard struct {
	q    *Queue
	now  int64
	runs []run
	used map[string]int64 // slot time of ended tasks, by tenant
	most int              // tasks in flight at once
	left map[*Entry]int64 // tasks of those whose work ends
}

type run struct {
	p     Pick
	since int64
	ends  int64
}

func newYard(slots int) *yard {
	return &yard{q: New(Options{Slots: slots}), now: 1e18, used: map[string]int64{}, left: map[*Entry]int64{}}
}

// resource adds one that has so many workers.
func (y *yard) resource(name string, workers int) *Resource {
	r := y.q.AddResource(ResourceConfig{Name: name})
	y.q.SetWorkers(y.now, r, workers)
	return r
}

// endless gives a tenant work without end on a resource of its own or a common one;
// each of its tasks takes so many milliseconds.
func (y *yard) endless(tenant string, r *Resource, millis int64) {
	e := y.q.AddEntry(y.q.AddBulk(y.q.Tenant(tenant), BulkConfig{Tier: 2, Submit: y.now}), r, 0)
	e.Data = millis * 1e6
	y.q.Update(y.now, e, 1, 1e9)
}

// some gives a tenant so many tasks.
func (y *yard) some(tenant string, r *Resource, millis, tasks int64) {
	e := y.q.AddEntry(y.q.AddBulk(y.q.Tenant(tenant), BulkConfig{Tier: 2, Submit: y.now}), r, 0)
	e.Data = millis * 1e6
	y.left[e] = tasks
	y.q.Update(y.now, e, 1, tasks-1)
}

// run lets time pass, a millisecond at a time.
func (y *yard) run(millis int) {
	for range millis {
		for {
			p, ok := y.q.Next(y.now)
			if !ok {
				break
			}
			if left, ends := y.left[p.Entry]; ends {
				y.left[p.Entry] = left - 1
				y.q.Update(y.now, p.Entry, int(min(left-1, 1)), max(left-2, 0))
			} else {
				y.q.Update(y.now, p.Entry, 1, 1e9)
			}
			y.runs = append(y.runs, run{p, y.now, y.now + p.Entry.Data.(int64)})
			y.most = max(y.most, len(y.runs))
		}
		y.now += 1e6
		kept := y.runs[:0]
		for _, r := range y.runs {
			if r.ends > y.now {
				kept = append(kept, r)
				continue
			}
			y.used[r.p.Entry.bulk.tenant.name] += y.now - r.since
			y.q.Done(y.now, r.p, y.now-r.since)
		}
		y.runs = kept
	}
}

func (y *yard) inFlight(tenant string) (n int) {
	for _, r := range y.runs {
		if r.p.Entry.bulk.tenant.name == tenant {
			n++
		}
	}
	return n
}

// share is a tenant's part of the slot time that all of them used.
func (y *yard) share(tenant string) float64 {
	all := int64(0)
	for _, used := range y.used {
		all += used
	}
	return float64(y.used[tenant]) / float64(all)
}

func TestATenantGainsNoSlotsBySpreadingOverResources(t *testing.T) {
	for _, slots := range []int{4, 16, 64} {
		for _, millis := range []int64{5, 50} {
			t.Run(fmt.Sprintf("%d slots, tasks of %d ms", slots, millis), func(t *testing.T) {
				y := newYard(slots)
				y.endless("b", y.q.AddResource(ResourceConfig{Name: "b"}), millis)
				for i := range 16 {
					y.endless("a", y.q.AddResource(ResourceConfig{Name: fmt.Sprint("a", i)}), millis)
				}
				y.run(20_000)
				if s := y.share("a"); s < 0.47 || s > 0.53 {
					t.Errorf("a tenant on 16 resources has %.3f of the slot time beside one on a single one", s)
				}
			})
		}
	}
}

// What is shared is time: a tenant of slow tasks has no more of it than one of quick
// tasks, on the same resource or on another one.
func TestSlowTasksTakeNoMoreThanTheirShareOfTheSlots(t *testing.T) {
	for _, tt := range []struct {
		name           string
		slots, tenants int
		common         bool
	}{
		{"two tenants with a resource each", 16, 2, false},
		{"two tenants on one resource", 16, 2, true},
		{"more tenants than slots", 8, 20, false},
		{"more tenants than slots, on one resource", 8, 20, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			y := newYard(tt.slots)
			r := y.q.AddResource(ResourceConfig{Name: "common"})
			for i := range tt.tenants {
				if !tt.common {
					r = y.q.AddResource(ResourceConfig{Name: fmt.Sprint(i)})
				}
				millis := int64(10)
				if i%4 == 0 {
					millis = 400
				}
				y.endless(fmt.Sprint(i), r, millis)
			}
			y.run(60_000)
			for i := range tt.tenants {
				if s := y.share(fmt.Sprint(i)) * float64(tt.tenants); s < 0.7 || s > 1.3 {
					t.Errorf("tenant %d has %.2f of its share of the slot time", i, s)
				}
			}
		})
	}
}

// Calls that hang take all slots while their tenant is alone. A tenant that comes later gets the
// reserve at once, and soon all slots: stalled calls hold none.
func TestTenantThatComesWhileAllCallsHangIsServed(t *testing.T) {
	y := newYard(64)
	y.endless("hangs", y.resource("hangs", 64), 30_000)
	y.run(100)
	if len(y.runs) != 64 {
		t.Fatalf("%d tasks in flight of a tenant that is alone, want all 64", len(y.runs))
	}
	y.endless("quick", y.resource("quick", 64), 2)
	y.run(300)
	if done := y.used["quick"] / 2e6; done < 8*135 {
		t.Errorf("%d tasks of 2 ms in 300 ms beside calls that hang, want about 8 at a time", done)
	}
	if y.most > 72 {
		t.Errorf("%d tasks in flight before any has stalled, want at most 64 and an eighth", y.most)
	}
	y.run(300)
	was := y.used["quick"]
	y.run(1000)
	if done := (y.used["quick"] - was) / 2e6; done < 64*450 {
		t.Errorf("%d tasks of 2 ms in a second beside calls that have stalled, want about 64 at a time", done)
	}
	if y.most > 64+64 {
		t.Errorf("%d tasks in flight, want at most twice as many as there are slots", y.most)
	}
	y.run(30_000)
	if n := y.inFlight("hangs"); n > 34 {
		t.Errorf("%d of the tenant that hangs in flight once its first calls have ended, want about a half", n)
	}
}

// Two tenants' calls hang in all slots and in the reserve. A third one does not wait for them to end.
func TestCallsThatHangDoNotKeepTheReserve(t *testing.T) {
	for _, common := range []bool{true, false} {
		t.Run(fmt.Sprintf("on one resource: %v", common), func(t *testing.T) {
			y := newYard(64)
			x := y.resource("x", 64)
			y.endless("u1", x, 30_000)
			y.run(50)
			if !common {
				x = y.resource("y", 64)
			}
			y.endless("u2", x, 30_000)
			y.run(700)
			y.endless("u3", x, 30_000) // nor does one that comes when calls have stalled already
			y.run(1000)
			y.some("small", y.resource("ok", 64), 50, 16)
			y.run(101)
			if done := y.used["small"] / 50e6; done < 16 {
				t.Errorf("%d of 16 tasks of 50 ms are done after 100 ms beside calls that hang", done)
			}
			if y.most > 64+64+8 {
				t.Errorf("%d tasks in flight, want at most twice as many as there are slots, and the reserve", y.most)
			}
		})
	}
}

// The calls of one tenant hang on a resource on which others' calls end. They do not fill, a second time,
// the slots that they gave up: other tenants, who came when slots were lent, need them for slow calls of their own.
func TestStalledCallsDoNotFillTheSlotsTheyGaveUp(t *testing.T) {
	y := newYard(64)
	x := y.resource("x", 128)
	y.endless("quick", x, 50)
	y.run(500)
	y.endless("hangs", x, 25_000)
	y.run(3000)
	y.endless("slow", y.resource("y", 64), 1500)
	y.run(3000)
	was := y.used["slow"]
	y.run(6000)
	if busy := float64(y.used["slow"]-was) / 6e9; busy < 20 {
		t.Errorf("%.1f slots are busy with slow calls beside calls that hang, want a third of 64", busy)
	}
	if n := y.inFlight("hangs"); n > 70 {
		t.Errorf("%d calls in flight of the tenant that hangs, want about as many as there are slots", n)
	}
}

// The calls of one tenant hang on a resource, and those of others end: its workers are for those.
func TestWorkersWhoseCallsStalledAreReplaced(t *testing.T) {
	y := newYard(64)
	r := y.resource("r", 16)
	y.endless("hangs", r, 30_000)
	y.run(100)
	y.endless("quick", r, 10)
	y.run(300)
	if done := y.used["quick"] / 10e6; done < 2*25 {
		t.Errorf("%d tasks of 10 ms in 300 ms before any call has stalled, want two workers' worth", done)
	}
	y.run(700)
	was := y.used["quick"]
	y.run(1000)
	if busy := float64(y.used["quick"]-was) / 1e9; busy < 12.5 {
		t.Errorf("%.1f workers are busy with calls that end, want all 16 but those that are kept free for newcomers", busy)
	}
	if n := y.inFlight("hangs"); n > 16 {
		t.Errorf("%d calls in flight of the tenant that hangs, want at most the 16 that it had", n)
	}
}

// Where slots are few but not all taken, small work is not held to its share of them: fair sharing
// owes it more than it is about to use.
func TestSmallWorkIsNotHeldToItsShareOfFewSlots(t *testing.T) {
	y := newYard(12)
	r := y.q.AddResource(ResourceConfig{Name: "r", Rate: 100}) // ten tasks of 100 ms at a time
	for i := range 10 {
		y.endless(fmt.Sprint("flood", i), r, 100)
	}
	y.run(5000)
	y.some("small", r, 100, 6)
	y.run(200)
	if done := y.used["small"] / 1e8; done < 6 {
		t.Errorf("%d of 6 tasks of 100 ms are done after 200 ms, want all: the rate has room for one every 10 ms", done)
	}
}
