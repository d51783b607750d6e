package sched

import (
	"fmt"
	"slices"
	"testing"
)

func TestObserveTellsOfTheTenantsWithTheMostToDo(t *testing.T) {
	q := New(Options{Slots: 4})
	r := q.AddResource(ResourceConfig{Name: "r"})
	for i := range 40 {
		g := q.AddBulk(q.Tenant(fmt.Sprintf("t%02d", i)), BulkConfig{Tier: i % Tiers})
		q.Update(0, q.AddEntry(g, r, 0), 1, int64(100*(i+1)))
	}
	both := q.AddBulk(q.Tenant("t39"), BulkConfig{Tier: 0})
	q.Update(0, q.AddEntry(both, r, 0), 1, 9000)
	l := q.Observe(1, r)
	if len(l.Top) == 0 || len(l.Top) > topTenants {
		t.Fatalf("%d tenants, want 1 to %d", len(l.Top), topTenants)
	}
	if l.Top[0].Name != "t39" || l.Top[0].Backlog != 4001+9001 {
		t.Errorf("first is %+v, want t39 with what it has in both tiers", l.Top[0])
	}
	if !slices.IsSortedFunc(l.Top, func(a, b TenantLoad) int { return int(b.Backlog - a.Backlog) }) {
		t.Errorf("not by backlog: %+v", l.Top)
	}
	for i := 1; i < len(l.Top); i++ {
		if want := fmt.Sprintf("t%02d", 39-i); l.Top[i].Name != want {
			t.Errorf("tenant %d is %s, want %s", i, l.Top[i].Name, want)
		}
	}
}

func TestObserveCountsWhatTenantsTook(t *testing.T) {
	q := New(Options{Slots: 100})
	r := q.AddResource(ResourceConfig{Name: "r"})
	a, b := q.AddBulk(q.Tenant("a"), BulkConfig{}), q.AddBulk(q.Tenant("b"), BulkConfig{})
	left := map[*Entry]int64{q.AddEntry(a, r, 0): 900, q.AddEntry(b, r, 0): 900}
	for e, n := range left {
		q.Update(0, e, 5, n)
	}
	for range 20 {
		p, ok := q.Next(1)
		if !ok {
			t.Fatal("nothing to pick")
		}
		left[p.Entry] -= 5
		q.Update(1, p.Entry, 5, left[p.Entry])
	}
	l := q.Observe(2, r)
	if l.Taken != 100 || len(l.Top) != 2 || l.Top[0].Taken+l.Top[1].Taken != 100 || l.Top[0].InFlight+l.Top[1].InFlight != 20 {
		t.Errorf("after 20 tasks of 5: taken %d, %+v", l.Taken, l.Top)
	}
	if l := q.Observe(3, r); l.Taken != 0 || l.Top[0].Taken+l.Top[1].Taken != 100 {
		t.Errorf("a moment later: taken %d, want 0; %+v, want what they took in all", l.Taken, l.Top)
	}
}

func TestAPausedTenantIsNamedAsTheCause(t *testing.T) {
	q := New(Options{})
	r := q.AddResource(ResourceConfig{Name: "r"})
	g := q.AddBulk(q.Tenant("a"), BulkConfig{})
	e := q.AddEntry(g, r, 0)
	q.Update(0, e, 1, 10)
	q.PauseTenant(0, q.Tenant("a"))
	if _, ok := q.Next(0); ok {
		t.Error("a task of a paused tenant was picked")
	}
	if c := q.Cause(e); c != CauseTenantPaused || c.WaitingOn() != "paused_tenant" {
		t.Errorf("cause = %v (%s), want tenant_paused", c, c.WaitingOn())
	}
	q.PauseBulk(0, g)
	if c := q.Cause(e); c != CausePaused {
		t.Errorf("cause of one that is paused itself = %v, want paused", c)
	}
}
