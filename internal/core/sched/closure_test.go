package sched

import "testing"

func TestOneTenantIsShutAndTheOthersGoOn(t *testing.T) {
	q := New(Options{})
	r, other := q.AddResource(ResourceConfig{Name: "r"}), q.AddResource(ResourceConfig{Name: "other"})
	entry := func(tenant string, r *Resource) *Entry {
		e := q.AddEntry(q.AddBulk(q.Tenant(tenant), BulkConfig{Tier: 2}), r, 0)
		q.Update(0, e, 1, 99)
		return e
	}
	a, b, elsewhere := entry("a", r), entry("b", r), entry("a", other)
	run := func(now int64, n int) map[*Entry]int {
		ran := map[*Entry]int{}
		for range n {
			p, ok := q.Next(now)
			if !ok {
				break
			}
			ran[p.Entry]++
			q.Update(now, p.Entry, 1, 99)
			q.Done(now, p, 1)
		}
		return ran
	}
	q.CloseTenant(0, a.Bulk().Tenant(), r, 100, CauseClosed)
	q.CloseTenant(0, a.Bulk().Tenant(), r, 50, CauseClosed) // an earlier time changes nothing
	if got := run(1, 40); got[a] != 0 || got[b] == 0 || got[elsewhere] == 0 {
		t.Errorf("ran %d of the tenant that is shut, %d of the other, %d of it elsewhere", got[a], got[b], got[elsewhere])
	}
	if c := q.Cause(a); c != CauseClosed {
		t.Errorf("it waits because of %v, want closed", c)
	}
	if got := run(60, 40); got[a] != 0 {
		t.Errorf("ran %d at the earlier time", got[a])
	}
	q.RemoveBulk(60, b.Bulk())
	q.RemoveBulk(60, elsewhere.Bulk())
	if _, ok := q.Next(60); ok || q.Wake() != 100 {
		t.Errorf("with nothing else to do it wakes at %d, want 100", q.Wake())
	}
	if got := run(100, 4); got[a] != 4 {
		t.Errorf("ran %d of 4 when its time has come", got[a])
	}
	if len(r.closures) != 0 || len(q.closed) != 0 {
		t.Errorf("%d tenants and %d times are remembered for nothing", len(r.closures), len(q.closed))
	}
}
