package sched

import (
	"fmt"
	"math"
	"testing"

	"github.com/weirhq/weir/internal/core/limit"
)

func TestLaterStepsComeFirst(t *testing.T) {
	q := New(Options{})
	r := q.AddResource(ResourceConfig{Name: "r"})
	g := q.AddBulk(q.Tenant("t"), BulkConfig{Tier: 2})
	var es []*Entry
	for step := range 3 {
		es = append(es, q.AddEntry(g, r, step))
	}
	other := q.AddEntry(q.AddBulk(q.Tenant("t"), BulkConfig{Tier: 2, Submit: 3600 * sec}), r, 0)
	q.Update(0, other, 1, 5000)
	for _, backlog := range []int64{10, 5000} { // whichever has less to do
		q.Update(0, es[0], 1, backlog)
		q.Update(0, es[2], 1, 5010-backlog)
		q.Update(0, es[1], 1, 3000)
		for i := range 8 {
			p, ok := q.Next(0)
			if !ok || p.Entry != es[2] {
				t.Fatalf("pick %d = step %d of bulk action with submit %d, want step 2 first", i, p.Entry.Step(), p.Entry.Bulk().submit)
			}
			q.Update(0, es[2], 1, 5010-backlog)
			q.Done(0, p, ms)
		}
	}
	q.Update(0, es[2], 0, 0)
	if p, _ := q.Next(0); p.Entry != es[1] {
		t.Errorf("without work at step 2 the pick was step %d, want 1", p.Entry.Step())
	}
}

func TestCausesAreTold(t *testing.T) {
	for _, tt := range []struct {
		name  string
		setup func(q *Queue, r *Resource, e *Entry)
		want  Cause
	}{
		{"nothing in the way", func(*Queue, *Resource, *Entry) {}, CauseNone},
		{"nothing to run", func(q *Queue, _ *Resource, e *Entry) { q.Update(0, e, 0, 10) }, CauseEmpty},
		{"bulk action paused", func(q *Queue, _ *Resource, e *Entry) { q.PauseBulk(0, e.Bulk()) }, CausePaused},
		{"tenant paused", func(q *Queue, _ *Resource, e *Entry) { q.PauseTenant(0, e.Bulk().Tenant()) }, CauseTenantPaused},
		{"bulk action cap", func(q *Queue, _ *Resource, e *Entry) { e.Bulk().cap = 1; q.Next(0) }, CauseBulkCap},
		{"tenant cap", func(q *Queue, _ *Resource, e *Entry) { q.SetTenant(0, e.Bulk().Tenant(), Unit, 1); q.Next(0) }, CauseTenantCap},
		{"concurrency", func(q *Queue, r *Resource, _ *Entry) { q.SetConcurrency(0, r, 1); q.Next(0) }, CauseConcurrency},
		{"slots", func(q *Queue, _ *Resource, _ *Entry) { q.slots = 1; q.Next(0) }, CauseSlots},
		{"rate", func(q *Queue, r *Resource, _ *Entry) { q.SetRate(0, r, 1); q.Next(0) }, CauseRate},
		{"closed", func(q *Queue, r *Resource, _ *Entry) { q.CloseUntil(0, r, sec) }, CauseClosed},
		{"others' turn", func(q *Queue, r *Resource, _ *Entry) {
			o := q.AddEntry(q.AddBulk(q.Tenant("o"), BulkConfig{}), r, 0)
			q.Update(0, o, 1, 1e6)
		}, CauseFairShare},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := New(Options{})
			r := q.AddResource(ResourceConfig{Name: "r"})
			e := q.AddEntry(q.AddBulk(q.Tenant("t"), BulkConfig{}), r, 0)
			q.Update(0, e, 1, 1e6)
			tt.setup(q, r, e)
			q.Next(0)
			if got := q.Cause(e); got != tt.want {
				t.Errorf("cause = %v, want %v", got, tt.want)
			}
		})
	}
}

// fakeGate answers as it is told and notes what it is asked.
type fakeGate struct {
	at              int64
	cause           limit.Cause
	takes, releases int
	idles, cost     int
}

func (g *fakeGate) Peek(now int64) int64 { return max(g.at, now) }
func (g *fakeGate) Take(now int64, cost int) (int64, bool) {
	g.takes++
	g.cost = cost
	return max(g.at, now), g.at <= now
}
func (g *fakeGate) Most(string, int) int              { return math.MaxInt32 }
func (g *fakeGate) Fits(int64, int, int) (int, int64) { return 0, math.MaxInt64 }
func (g *fakeGate) Late(_, _ int64, _ int)            {}
func (g *fakeGate) Bound() int                        { return 0 }
func (g *fakeGate) Release(int64)                     { g.releases++ }
func (g *fakeGate) Idle(int64)                        { g.idles++ }
func (g *fakeGate) Cause() limit.Cause                { return g.cause }

func TestGateIsAskedOnceAndThenWaitedFor(t *testing.T) {
	q := New(Options{})
	g := &fakeGate{at: math.MaxInt64, cause: limit.CauseConcurrency}
	r := q.AddResource(ResourceConfig{Name: "r", Gate: g})
	var es []*Entry
	for i := range 2 {
		e := q.AddEntry(q.AddBulk(q.Tenant(fmt.Sprint(i)), BulkConfig{Tier: 2}), r, 0)
		q.Update(0, e, 7, 1e6)
		es = append(es, e)
	}
	for range 5 {
		if _, ok := q.Next(0); ok {
			t.Fatal("picked through a closed gate")
		}
	}
	if g.takes != 1 || g.cost != 7 {
		t.Errorf("asked %d times, last for %d items; want once, 7", g.takes, g.cost)
	}
	if q.Wake() != math.MaxInt64 || q.Cause(es[0]) != CauseConcurrency {
		t.Errorf("wake at %d, cause %v; want never, concurrency", q.Wake(), q.Cause(es[0]))
	}
	g.at = 0
	q.WakeResource(1, r)
	p, ok := q.Next(1)
	if !ok {
		t.Fatal("no pick after the gate opened and the resource was woken")
	}
	q.Done(2, p, 1)
	for _, e := range es {
		q.Update(2, e, 0, 0)
	}
	if g.releases != 1 || g.idles != 1 {
		t.Errorf("%d releases, %d times idle; want 1 and 1", g.releases, g.idles)
	}
}

// A flow that is served by its tier is not charged to the express path.
func TestExpressLaneIsNotPaidForWhereTheTurnIsEnough(t *testing.T) {
	q := New(Options{})
	r := q.AddResource(ResourceConfig{Name: "r", Gate: &fakeGate{}})
	for _, items := range []int64{1e6, 1} {
		e := q.AddEntry(q.AddBulk(q.Tenant(fmt.Sprint(items)), BulkConfig{}), r, 0)
		q.Update(0, e, 1, items-1)
	}
	before := r.budgets[PathExpress]
	p, ok := q.Next(0)
	if !ok || p.Path != PathTier || p.Entry.Bulk().Tenant().Name() != "1" {
		t.Errorf("pick = %v by path %v; want the small one by its tier", ok, p.Path)
	}
	if r.budgets[PathExpress] < before {
		t.Errorf("budget of the path fell from %v to %v", before, r.budgets[PathExpress])
	}
}

func TestRemovedGroupMayStillEndItsTasks(t *testing.T) {
	q := New(Options{})
	r := q.AddResource(ResourceConfig{Name: "r", Concurrency: 1})
	tenant := q.Tenant("t")
	g := q.AddBulk(tenant, BulkConfig{})
	e := q.AddEntry(g, r, 0)
	q.Update(0, e, 1, 10)
	p, _ := q.Next(0)
	q.Update(0, e, 1, 9)
	q.RemoveBulk(1, g)
	q.Update(1, e, 1, 9) // comes too late, and does nothing
	if _, ok := q.Next(1); ok {
		t.Error("picked from a removed bulk action")
	}
	q.Done(2, p, 1)
	q.Next(2)
	if q.InFlight() != 0 || r.InFlight() != 0 || g.InFlight() != 0 || tenant.InFlight() != 0 {
		t.Error("a removed bulk action's task was not given back")
	}
	if q.Tenants() != 0 {
		t.Error("the tenant was kept after its last bulk action ended and its last task was done")
	}
	again := q.AddEntry(q.AddBulk(tenant, BulkConfig{}), r, 0)
	q.Update(3, again, 1, 0)
	if p, ok := q.Next(3); !ok || p.Entry != again || q.Tenant("t") != tenant {
		t.Error("a tenant that was dropped could not be used again")
	}
}

func TestCancelledGroupsDoNotPileUp(t *testing.T) {
	q := New(Options{})
	r := q.AddResource(ResourceConfig{Name: "r"})
	big := q.AddEntry(q.AddBulk(q.Tenant("t"), BulkConfig{}), r, 0)
	q.Update(0, big, 1, 5)
	for i := range 10_000 {
		g := q.AddBulk(q.Tenant("t"), BulkConfig{Submit: int64(i) * sec})
		e := q.AddEntry(g, r, 0)
		q.Update(0, e, 1, int64(i%100)+10)
		q.RemoveBulk(0, g)
	}
	if n := len(big.flow.heaps[byScore]); n > 100 {
		t.Errorf("entries held = %d after 10,000 bulk actions came and were cancelled, want few", n)
	}
	if p, ok := q.Next(0); !ok || p.Entry != big {
		t.Error("the bulk action that is left was not picked")
	}
}

func TestRemovedTaskBlocksNoOther(t *testing.T) {
	q := New(Options{})
	r := q.AddResource(ResourceConfig{Name: "r", Rate: 10})
	add := func(name string, now int64, head int) *Entry {
		e := q.AddEntry(q.AddBulk(q.Tenant(name), BulkConfig{Tier: 2}), r, 0)
		q.Update(now, e, head, 1e6)
		return e
	}
	first := add("first", 0, 8)
	if _, ok := q.Next(0); !ok {
		t.Fatal("nothing to run")
	}
	q.Update(0, first, 0, 0)
	now := 790 * ms // paced for one more, and the window has room for two
	big := add("big", now, 9)
	q.Next(now)
	small := add("small", now, 1)
	if _, ok := q.Next(now); ok {
		t.Fatal("a small task went ahead of the one whose turn it is")
	}
	q.PauseBulk(now, big.Bulk())
	if p, ok := q.Next(now); !ok || p.Entry != small {
		t.Error("the resource still waits for a task that was paused")
	}
}
