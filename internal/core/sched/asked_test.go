package sched

import "testing"

// Two partitions share a rate. One offers large tasks, the other small ones, one after the other: it says what is left
// only when it has taken one up. Its share must not depend on how many small ones fit before a large one does.
func TestSmallTasksKeepTheirShareBesideLargeOnesOfAnotherPartition(t *testing.T) {
	const rate, seconds = 600, 20
	q := New(Options{Slots: 1000})
	r := q.AddResource(ResourceConfig{Name: "r", Rate: rate})
	now := int64(1e18)
	got := map[*Party]int{}
	heads := map[*Party]int{}
	var parties []*Party
	for i, head := range []int{40, 1} {
		p := q.Join()
		g := p.AddBulk(q.Tenant([]string{"large", "small"}[i]), BulkConfig{Tier: 2, Submit: now})
		e := q.AddEntry(g, r, 0)
		p.Open(now)
		q.Update(now, e, head, 1e9)
		heads[p] = head
		parties = append(parties, p)
	}
	ask := func(p *Party) {
		for {
			pick, ok := p.Next(now)
			if !ok {
				return
			}
			got[p] += pick.Cost
			q.Update(now, pick.Entry, heads[p], 1e9)
			q.Done(now, pick, 1e6)
		}
	}
	for range seconds * 20 { // room comes in lumps, as it does when large tasks leave the window
		ask(parties[0])
		for calls := q.Calls(nil); len(calls) > 0; calls = q.Calls(nil) {
			for _, p := range calls {
				ask(p)
			}
		}
		now += 50e6
	}
	if share := float64(got[parties[1]]) / (rate * seconds); share < 0.48 {
		t.Errorf("the tenant with small tasks has %.2f of the rate, want a half", share)
	}
	if all := got[parties[0]] + got[parties[1]]; all < 98*rate*seconds/100 {
		t.Errorf("%d items went, want all of %d", all, rate*seconds)
	}
}
