package sched

import (
	"fmt"
	"runtime"
	"testing"
)

// A million short bulk actions of ever new tenants beside a flood, one in eight of
// them cancelled before it ran, leave nothing behind.
func TestMemoryStaysFlatOverAMillionBulkActions(t *testing.T) {
	const bulks, tenants, every = 1_000_000, 300_000, 250_000
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r"})
	s.add(job{tenant: "flood", tier: 2, r: r, items: 1e15, chunk: 100})
	var heaps []uint64
	most := 0
	for i := range bulks {
		small := s.add(job{tenant: fmt.Sprint(i % tenants), tier: i % Tiers, r: r, items: 10, chunk: 10})
		for i%8 > 0 && small.left > 0 {
			s.serve()
		}
		s.q.RemoveBulk(s.now, small.e.Bulk())
		s.serve() // the flood
		most = max(most, s.q.Tenants())
		if (i+1)%every == 0 {
			heaps = append(heaps, heapInUse())
		}
	}
	t.Logf("tenants held at most: %d; heap after each quarter: %d B", most, heaps)
	if most > 1000 {
		t.Errorf("tenants held at most = %d of %d, want few", most, tenants)
	}
	if last := heaps[len(heaps)-1]; last > heaps[0]+1<<20 {
		t.Errorf("heap grew from %d to %d bytes", heaps[0], last)
	}
	if n := cap(r.tiers[2].main.s); n > 10_000 {
		t.Errorf("the tier's heap has grown to %d items", n)
	}
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestRemovedGroupsDoNotWaitForAClosedResource(t *testing.T) {
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r"})
	s.add(job{tenant: "stays", tier: 2, r: r, items: 100, chunk: 10})
	s.q.CloseUntil(s.now, r, s.now+sec)
	for i := range 1000 {
		j := s.add(job{tenant: fmt.Sprint(i), tier: 2, r: r, items: 10, chunk: 10})
		s.q.RemoveBulk(s.now, j.e.Bulk())
	}
	if n := s.q.Tenants(); n != 1 {
		t.Errorf("tenants held after all but one have removed their bulk actions = %d, want 1", n)
	}
	if n := len(r.tiers[2].main.s); n > 100 {
		t.Errorf("the tier's heap keeps %d flows that are gone, want few", n)
	}
}

func TestGoingIdleAndBackLeavesNothingInTheHeap(t *testing.T) {
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r"})
	stays := s.add(job{tenant: "stays", tier: 2, r: r, items: 100, chunk: 10})
	j := s.add(job{tenant: "wavers", tier: 2, r: r, items: 100, chunk: 10})
	s.q.CloseUntil(s.now, r, s.now+sec)
	for range 1000 {
		s.q.Update(s.now, j.e, 0, 100)
		s.update(j)
	}
	if n := len(r.tiers[2].main.s); n > 100 {
		t.Errorf("items of two flows in the tier's heap = %d, want few", n)
	}
	s.q.CloseUntil(s.now, r, 0)
	for stays.left+j.left > 0 {
		s.serve()
	}
	if p, ok := s.q.Next(s.now); ok {
		t.Errorf("Next() = %+v after all was served", p)
	}
}

// A task in flight outlives its bulk action, its flow and, in name, its tenant; all that
// it holds is given back when it ends, once.
func TestRemovalWithATaskInFlight(t *testing.T) {
	s := newSim(t, Options{Slots: 4})
	r := s.q.AddResource(ResourceConfig{Name: "r", Concurrency: 3})
	old := s.add(job{tenant: "a", tier: 2, r: r, items: 20, chunk: 10})
	p, ok := s.q.Next(s.now)
	if !ok {
		t.Fatal("nothing to run")
	}
	s.q.RemoveBulk(s.now, old.e.Bulk())
	if n := s.q.Tenants(); n != 1 {
		t.Errorf("tenants while a task is in flight = %d, want 1", n)
	}
	s.add(job{tenant: "a", tier: 2, r: r, items: 10, chunk: 10})
	if got := s.q.Tenant("a").InFlight(); got != 1 {
		t.Errorf("tasks of the tenant in flight = %d, want the removed bulk action's one", got)
	}
	again, ok := s.q.Next(s.now)
	if !ok || again.Entry.Bulk() == old.e.Bulk() {
		t.Fatalf("Next() = %+v, %v; want the new bulk action's task", again, ok)
	}
	s.q.Update(s.now, again.Entry, 0, 0)
	s.q.RemoveBulk(s.now, again.Entry.Bulk())
	s.q.RemoveBulk(s.now, again.Entry.Bulk()) // a second time changes nothing
	s.q.Refund(p)
	s.q.Done(s.now, p, ms)
	s.q.Done(s.now, again, ms)
	if n, m, k := s.q.InFlight(), r.InFlight(), r.own.InFlight(); n != 0 || m != 0 || k != 0 {
		t.Errorf("in flight at the end: queue %d, resource %d, gate %d; want 0", n, m, k)
	}
	if n := s.q.Tenants(); n != 0 {
		t.Errorf("tenants at the end = %d, want 0", n)
	}
}
