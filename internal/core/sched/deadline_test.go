package sched

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weirhq/weir/internal/core/limit"
)

// runUntil serves for as long as the clock says, and has everyone look at its deadline.
func (s *sim) runUntil(end int64, jobs ...*job) {
	s.t.Helper()
	for look := s.now; s.now < end; {
		if look <= s.now {
			for _, j := range jobs {
				s.look(j)
			}
			look = s.now + planEvery
		}
		for {
			j, ok := s.tryServe()
			if !ok {
				break
			}
			if j.left == 0 {
				j.ended = s.now
				s.q.RemoveBulk(s.now, j.e.Bulk())
			}
		}
		s.now = min(end, look, max(s.q.Wake(), s.now+1))
	}
}

func (s *sim) look(j *job) Outlook {
	return s.q.Look(s.now, j.e.Bulk(), Rest{Pending: []int64{j.left}})
}

// missed lists the jobs that did not end in time.
func missed(jobs []*job) (no []int) {
	for i, j := range jobs {
		if j.ended == 0 || j.ended > j.due {
			no = append(no, i)
		}
	}
	return no
}

// One tenant with a flood, and five bulk actions that are met only if the earliest deadline
// goes first and they begin long before each by itself would have to.
func TestTheEarliestDeadlineGoesFirst(t *testing.T) {
	for _, rate := range []float64{1000, 0} {
		t.Run(fmt.Sprintf("rate %g", rate), func(t *testing.T) {
			s := newSim(t, Options{})
			begin := s.now
			c := ResourceConfig{Name: "r", Rate: rate}
			if rate == 0 {
				c.Gate = limit.NewGate(limit.GateConfig{Rate: 1000}) // the queue does not know of it
			}
			r := s.q.AddResource(c)
			flood := s.add(job{tenant: "one", tier: 2, r: r, items: 1e6, chunk: 10})
			var jobs []*job
			for _, i := range []int64{4, 2, 0, 3, 1} { // in another order than they are due
				jobs = append(jobs, s.add(job{tenant: "one", tier: 2, r: r, items: 8000, chunk: 10, due: begin + (50+i)*sec}))
			}
			s.runUntil(begin+60*sec, jobs...)
			if no := missed(jobs); len(no) > 0 {
				t.Errorf("late: %v", no)
			}
			if !slices.IsSortedFunc([]*job{jobs[2], jobs[4], jobs[1], jobs[3], jobs[0]}, func(a, b *job) int { return int(a.ended - b.ended) }) {
				t.Error("they did not end in the order of their deadlines")
			}
			if sum := flood.served + 5*8000; sum < 58_000 {
				t.Errorf("all that was done in 60 s at 1000/s: %d", sum)
			}
		})
	}
}

func TestADeadlineThatIsFarOffDoesNotGoFirst(t *testing.T) {
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r", Rate: 1000})
	old := s.add(job{tenant: "one", tier: 2, r: r, items: 5000, chunk: 10})
	s.now += 600 * sec
	far := s.add(job{tenant: "one", tier: 2, r: r, items: 5000, chunk: 10, due: s.now + 60*sec})
	s.runUntil(s.now+10*sec, far)
	if far.ended == 0 || old.ended == 0 || old.ended > far.ended {
		t.Errorf("ended at %d and %d: the older one, without a deadline, has to be first", old.ended, far.ended)
	}
}

// With deadlines and without, the bulk actions of other tenants end at the same time, but for a task.
func TestDeadlinesDoNotMoveTheEndOfOtherTenants(t *testing.T) {
	play := func(due int64) (ends []int64) {
		s := newSim(t, Options{})
		begin := s.now
		r := s.q.AddResource(ResourceConfig{Name: "r", Rate: 1000})
		var others, sly []*job
		for i := range int64(3) {
			others = append(others, s.add(job{tenant: fmt.Sprint("other", i), tier: 2, r: r, items: 4000 + 1500*i, chunk: 10}))
		}
		s.add(job{tenant: "sly", tier: 2, r: r, items: 1e6, chunk: 10})
		for i := range int64(10) {
			sly = append(sly, s.add(job{tenant: "sly", tier: 2, r: r, items: 900, chunk: 10, due: due * (begin + (4+4*i)*sec)}))
		}
		s.runUntil(begin+40*sec, append(sly, others...)...)
		for _, j := range others {
			ends = append(ends, j.ended-begin)
		}
		return ends
	}
	with, without := play(1), play(0)
	for i := range with {
		if apart := max(with[i]-without[i], without[i]-with[i]); apart > sec*10/250 || with[i] < 0 {
			t.Errorf("other tenant %d ends after %d ns beside deadlines and after %d ns without: more than a task apart", i, with[i], without[i])
		}
	}
}

func TestOneThatCannotBeMetSaysSoAndCostsTheOthersNothing(t *testing.T) {
	s := newSim(t, Options{})
	begin := s.now
	r := s.q.AddResource(ResourceConfig{Name: "r", Rate: 1000})
	s.add(job{tenant: "one", tier: 2, r: r, items: 1e6, chunk: 10})
	hopeless := s.add(job{tenant: "one", tier: 2, r: r, items: 50_000, chunk: 10, due: begin + 9*sec})
	var jobs []*job
	for i := range int64(5) {
		jobs = append(jobs, s.add(job{tenant: "one", tier: 2, r: r, items: 1700, chunk: 10, due: begin + (i+1)*2*sec}))
	}
	all := append(slices.Clone(jobs), hopeless)
	s.runUntil(begin+sec, all...)
	if o := s.look(hopeless); !o.Late || o.Urgent {
		t.Errorf("50,000 items in 9 s at 1000/s, after a second: %+v", o)
	}
	if o := s.look(jobs[4]); o.Late || !o.Urgent {
		t.Errorf("one that can be met: %+v", o)
	}
	s.runUntil(begin+12*sec, all...)
	if no := missed(jobs); len(no) > 0 {
		t.Errorf("late beside one that could not be met: %v", no)
	}
}

// Of three that can not all be met, the two are kept that can.
func TestAsManyDeadlinesAsPossibleAreKept(t *testing.T) {
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r", Rate: 1000})
	var jobs []*job
	for _, items := range []int64{4000, 6000, 3000} {
		jobs = append(jobs, s.add(job{tenant: "one", tier: 2, r: r, items: items, chunk: 10, due: s.now + 9*sec}))
	}
	s.runUntil(s.now+sec, jobs...)
	if !s.look(jobs[1]).Late {
		t.Error("the one with the most left is not given up")
	}
	s.runUntil(s.now+12*sec, jobs...)
	if no := missed(jobs); !slices.Equal(no, []int{1}) {
		t.Errorf("late: %v, want [1]", no)
	}
}

func TestOneThatWasGivenUpIsTakenUpAgainWhenThereIsRoom(t *testing.T) {
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r", Rate: 1000})
	s.add(job{tenant: "one", tier: 2, r: r, items: 1e6, chunk: 10})
	j := s.add(job{tenant: "one", tier: 2, r: r, items: 60_000, chunk: 10, due: s.now + 40*sec})
	s.runUntil(s.now+2*sec, j)
	if !s.look(j).Late {
		t.Fatal("60,000 items in 40 s at 1000/s are not late")
	}
	s.q.SetRate(s.now, r, 3000)
	s.runUntil(s.now+30*sec, j)
	if j.ended == 0 {
		t.Errorf("at three times the rate %d of 60,000 items are left after 30 s", j.left)
	}
}

// What is not urgent gets a sixteenth, however much urgent work comes.
func TestOthersOfTheTenantDoNotStarve(t *testing.T) {
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r", Rate: 1000})
	flood := s.add(job{tenant: "one", tier: 2, r: r, items: 1e6, chunk: 10})
	for range 30 {
		j := s.add(job{tenant: "one", tier: 2, r: r, items: 920, chunk: 10, due: s.now + sec + sec/20})
		s.runUntil(s.now+sec, j)
	}
	if flood.served < 30_000/othersEvery*9/10 {
		t.Errorf("beside urgent work for 30 s at 1000/s the rest got %d items, want at least a sixteenth", flood.served)
	}
}

func TestAnOutageDoesNotMakeAFarDeadlineLate(t *testing.T) {
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r", Rate: 1000})
	j := s.add(job{tenant: "one", tier: 2, r: r, items: 40_000, chunk: 10, due: s.now + 200*sec})
	s.runUntil(s.now+10*sec, j)
	s.q.CloseUntil(s.now, r, s.now+120*sec)
	s.runUntil(s.now+119*sec, j)
	if s.look(j).Late {
		t.Error("30 s of work, with 70 s left, are said to be late after an outage of 120 s")
	}
	s.q.CloseUntil(s.now, r, s.now+50*sec)
	s.runUntil(s.now+49*sec, j)
	if !s.look(j).Late {
		t.Error("30 s of work, with 20 s left, are not said to be late")
	}
}

// A tenant that gets nothing at all gives up everything.
func TestAllDeadlinesCanBeGivenUp(t *testing.T) {
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r", Concurrency: 1})
	s.add(job{tenant: "other", tier: 2, r: r, items: 10, chunk: 10})
	if _, ok := s.q.Next(s.now); !ok { // and it does not end
		t.Fatal("nothing to run")
	}
	var jobs []*job
	for i := range int64(100) {
		jobs = append(jobs, s.add(job{tenant: "one", tier: 2, r: r, items: 3 + 7*i%11, chunk: 10, due: s.now + (15+i%3)*sec}))
	}
	s.runUntil(s.now+10*sec, jobs...)
	for i, j := range jobs {
		if !s.look(j).Late {
			t.Errorf("number %d is not late", i)
		}
	}
}

func TestAnOwnRateThatIsTooLowIsLate(t *testing.T) {
	s := newSim(t, Options{})
	r := s.q.AddResource(ResourceConfig{Name: "r", Rate: 1000})
	j := s.add(job{tenant: "one", tier: 2, r: r, items: 1000, chunk: 10, due: s.now + 50*sec})
	g := j.e.Bulk()
	rest := Rest{Pending: []int64{1000}, Own: []float64{10}}
	s.q.Look(s.now, g, rest)
	s.now += surelyLate + 1
	if !s.q.Look(s.now, g, rest).Late {
		t.Error("1,000 items in 50 s at an own rate of 10/s are not late")
	}
}
