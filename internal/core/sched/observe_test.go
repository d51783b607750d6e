package sched

import (
	"math/rand/v2"
	"testing"
	"time"
)

// crew runs tasks of one resource on workers, in virtual time.
type crew struct {
	q    *Queue
	r    *Resource
	now  int64
	ends []Pick
}

func newCrew(workers int) *crew {
	c := &crew{q: New(Options{}), now: 1e18}
	c.r = c.q.AddResource(ResourceConfig{Name: "r"})
	c.q.SetWorkers(c.now, c.r, workers)
	c.q.Observe(c.now, c.r)
	return c
}

func (c *crew) add(tenant string, tasks int) {
	g := c.q.AddBulk(c.q.Tenant(tenant), BulkConfig{Submit: c.now, Tier: 2})
	c.q.Update(c.now, c.q.AddEntry(g, c.r, 0), 1, int64(tasks-1))
}

// run starts what may start, lets it take as long as said, and ends it.
func (c *crew) run(service time.Duration) (started int) {
	for {
		p, ok := c.q.Next(c.now)
		if !ok {
			break
		}
		left := p.Entry.key[byRemaining] - 1
		c.q.Update(c.now, p.Entry, int(min(left, 1)), max(left-1, 0))
		c.ends = append(c.ends, p)
		started++
	}
	c.now += int64(service)
	for _, p := range c.ends {
		c.q.Done(c.now, p, int64(service))
	}
	c.ends = c.ends[:0]
	return started
}

func TestWorkersBoundTheTasksInFlight(t *testing.T) {
	c := newCrew(3)
	c.add("a", 10)
	for i, want := range []int{3, 3, 3, 1, 0} {
		if got := c.run(time.Second); got != want {
			t.Errorf("round %d started %d tasks on 3 workers, want %d", i, got, want)
		}
	}
	c.add("a", 10)
	c.q.SetWorkers(c.now, c.r, 0)
	if got := c.run(time.Second); got != 0 {
		t.Errorf("started %d tasks without workers", got)
	}
	c.q.SetWorkers(c.now, c.r, -1)
	if got := c.run(time.Second); got != 10 {
		t.Errorf("started %d of 10 tasks without a bound", got)
	}
}

func TestObserveTellsTheLoad(t *testing.T) {
	c := newCrew(2)
	c.add("a", 3)
	c.add("b", 1)
	c.run(time.Second) // a and b, each its first task
	c.run(time.Second) // a twice: the last of its tasks waited for a worker
	l := c.q.Observe(c.now, c.r)
	if l.Busy != 2 || l.InFlight != 0 || l.Backlog != 0 {
		t.Errorf("after two busy seconds: %+v, want 2 workers busy and nothing left", l)
	}
	if l.Wait50 != 0 || l.Wait99 < int64(time.Second) || l.Wait99 > int64(1300*time.Millisecond) {
		t.Errorf("waits for a worker: median %v, 99th percentile %v; want 0 and about 1s", time.Duration(l.Wait50), time.Duration(l.Wait99))
	}
	c.add("a", 7)
	if l := c.q.Observe(c.now+1, c.r); l.Backlog != 7 || l.Busy != 0 || l.Wait99 != 0 {
		t.Errorf("with 7 tasks that no party asked for yet: %+v", l)
	}
}

func TestWaitingForALimitIsNoWaitForAWorker(t *testing.T) {
	q := New(Options{})
	r := q.AddResource(ResourceConfig{Name: "r", Rate: 1})
	g := q.AddBulk(q.Tenant("a"), BulkConfig{Tier: 2})
	e := q.AddEntry(g, r, 0)
	q.Update(0, e, 1, 1)
	p, _ := q.Next(0)
	q.Update(0, e, 1, 0)
	q.Done(0, p, 1)
	if _, ok := q.Next(1); ok {
		t.Fatal("two items in one second at a rate of one")
	}
	if _, ok := q.Next(int64(2 * time.Second)); !ok {
		t.Fatal("nothing runs after the rate has recovered")
	}
	if l := q.Observe(int64(2*time.Second), r); l.Wait99 != 0 {
		t.Errorf("a task that waited for the rate counts as waiting %v for a worker", time.Duration(l.Wait99))
	}
}

func TestALaneThatStandsStillTellsHowLong(t *testing.T) {
	c := newCrew(1)
	c.add("a", 2)
	if _, ok := c.q.Next(c.now); !ok {
		t.Fatal("the first task does not start")
	}
	c.q.Update(c.now, c.r.tiers[2].turn.first.heaps[byScore][0], 1, 0)
	c.q.Next(c.now)
	c.q.Observe(c.now, c.r)
	l := c.q.Observe(c.now+int64(10*time.Second), c.r)
	if l.Wait99 < int64(10*time.Second) || l.Cause != CauseSlots {
		t.Errorf("after ten seconds without a free worker: %+v", l)
	}
}

func TestBacklogIsTheSumOfWhatCanBePicked(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	c := newCrew(4)
	for range 2000 {
		switch rng.IntN(4) {
		case 0:
			c.add(string(rune('a'+rng.IntN(20))), 1+rng.IntN(30))
		case 1:
			c.q.PauseTenant(c.now, c.q.Tenant(string(rune('a'+rng.IntN(20)))))
		case 2:
			c.q.ResumeTenant(c.now, c.q.Tenant(string(rune('a'+rng.IntN(20)))))
		default:
			c.run(time.Millisecond)
		}
		sum := int64(0)
		for k := range c.r.tiers {
			for f := c.r.tiers[k].turn.first; f != nil; f = f.links[inTurn].next {
				sum += f.backlog
			}
		}
		if got := c.q.Observe(c.now, c.r).Backlog; got != sum {
			t.Fatalf("backlog %d, the flows have %d", got, sum)
		}
	}
}

func TestGradesOfWaits(t *testing.T) {
	for wait := int64(1); wait < int64(15*time.Minute); wait += wait/3 + 1 {
		g := gradeOf(wait)
		if top := upTo(g); g > 0 && (wait >= top || float64(top) > 1.26*float64(wait)) {
			t.Fatalf("a wait of %v is in grade %d, which ends at %v", time.Duration(wait), g, time.Duration(top))
		}
	}
}
