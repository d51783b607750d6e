package sched

import (
	"math"
	"slices"
	"testing"
	"time"
)

const (
	ms  = int64(time.Millisecond)
	sec = int64(time.Second)
)

// sim runs a queue in virtual time: tasks start when Next says so and end after
// their service time.
type sim struct {
	t      *testing.T
	q      *Queue
	start  int64
	now    int64
	ends   []ending // by time
	coming []*job   // by arrival
	starts map[*Resource][]taken
	spins  int // Next gave nothing, but Wake said now
	onPick func(Pick)
}

type ending struct {
	at int64
	p  Pick
	j  *job
}

// job is the work of one entry.
type job struct {
	tenant   string
	tier     int
	r        *Resource
	items    int64
	chunk    int64
	service  int64
	arrive   int64 // after the start of the simulation
	priority int

	e           *Entry
	left        int64
	inFlight    int
	served      int64
	first, done int64 // when the first task started and the last one ended
	longest     int64 // longest wait between starts
	last        int64
}

func newSim(t *testing.T, o Options) *sim {
	return &sim{t: t, q: New(o), start: 1e18, now: 1e18, starts: make(map[*Resource][]taken)}
}

// add makes a job arrive now, if its time has come, or later.
func (s *sim) add(j job) *job {
	p := &j
	p.chunk = max(p.chunk, 1)
	if s.start+p.arrive > s.now {
		s.coming = append(s.coming, p)
		return p
	}
	s.submit(p)
	return p
}

func (s *sim) submit(j *job) {
	g := s.q.AddGroup(s.q.Tenant(j.tenant), GroupConfig{Submit: s.now, Tier: j.tier, Priority: j.priority})
	j.e = s.q.AddEntry(g, j.r, 0)
	j.e.Data = j
	j.left, j.last = j.items, s.now
	s.update(j)
}

func (s *sim) update(j *job) {
	head := min(j.chunk, j.left)
	s.q.Update(s.now, j.e, int(head), j.left-head)
}

// dispatch starts all that may start now.
func (s *sim) dispatch() {
	for {
		p, ok := s.q.Next(s.now)
		if !ok {
			if s.q.Wake() <= s.now {
				s.spins++
			}
			return
		}
		j := p.Entry.Data.(*job)
		if j.left == j.items {
			j.first = s.now
		}
		j.left -= int64(p.Cost)
		j.served += int64(p.Cost)
		j.longest = max(j.longest, s.now-j.last)
		j.last = s.now
		j.inFlight++
		s.starts[j.r] = append(s.starts[j.r], taken{s.now, int64(p.Cost)})
		s.update(j)
		s.endLater(ending{s.now + j.service, p, j})
		if s.onPick != nil {
			s.onPick(p)
		}
	}
}

func (s *sim) endLater(e ending) {
	i, _ := slices.BinarySearchFunc(s.ends, e.at+1, func(x ending, at int64) int { return int(min(max(x.at-at, -1), 1)) })
	s.ends = slices.Insert(s.ends, i, e)
}

// run goes on until the given time after the start, or until nothing is left.
func (s *sim) run(until int64) {
	slices.SortStableFunc(s.coming, func(a, b *job) int { return int(min(max(a.arrive-b.arrive, -1), 1)) })
	for s.dispatch(); ; s.dispatch() {
		next := s.q.Wake()
		if len(s.ends) > 0 {
			next = min(next, s.ends[0].at)
		}
		if len(s.coming) > 0 {
			next = min(next, s.start+s.coming[0].arrive)
		}
		if next == math.MaxInt64 || next > s.start+until {
			s.now = min(max(s.now, next), s.start+until)
			return
		}
		s.now = max(s.now, next)
		n := 0
		for ; n < len(s.ends) && s.ends[n].at <= s.now; n++ {
			s.finish(s.ends[n])
		}
		s.ends = slices.Delete(s.ends, 0, n)
		for len(s.coming) > 0 && s.start+s.coming[0].arrive <= s.now {
			s.submit(s.coming[0])
			s.coming = s.coming[1:]
		}
	}
}

func (s *sim) finish(x ending) {
	s.q.Done(s.now, x.p, x.j.service)
	x.j.inFlight--
	if x.j.left == 0 && x.j.inFlight == 0 {
		x.j.done = s.now
		s.q.RemoveGroup(s.now, x.j.e.Group())
	}
}

// use returns the part of the rate that r has used until now.
func (s *sim) use(r *Resource) float64 {
	var sum int64
	for _, x := range s.starts[r] {
		sum += x.cost
	}
	return float64(sum) / (r.rate * float64(s.now-s.start) / 1e9)
}

// target logs one line for a target, and fails if it is missed.
func (s *sim) target(ok bool, format string, args ...any) {
	s.t.Helper()
	s.t.Logf(format, args...)
	if !ok {
		s.t.Errorf("target missed: "+format, args...)
	}
}

// withinRate fails if a second of r saw more than its rate.
func (s *sim) withinRate(r *Resource) {
	s.t.Helper()
	got := peak(s.starts[r], sec)
	s.target(float64(got) <= r.rate, "peak of %s: %d items in a second, limit %v", r.name, got, r.rate)
}
