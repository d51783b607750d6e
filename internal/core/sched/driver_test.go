package sched

import (
	"testing"
	"time"
)

const (
	ms  = int64(time.Millisecond)
	sec = int64(time.Second)
)

// sim is a queue and its clock. Whole runs in virtual time are in package experiment.
type sim struct {
	t   *testing.T
	q   *Queue
	now int64
}

// job is the work of one entry.
type job struct {
	tenant string
	tier   int
	r      *Resource
	items  int64
	chunk  int64
	due    int64 // its deadline

	e        *Entry
	left     int64
	inFlight int
	served   int64
	ended    int64 // when nothing was left
}

func newSim(t *testing.T, o Options) *sim { return &sim{t: t, q: New(o), now: 1e18} }

// add makes a job arrive now.
func (s *sim) add(j job) *job {
	p := &j
	p.chunk = max(p.chunk, 1)
	g := s.q.AddBulk(s.q.Tenant(p.tenant), BulkConfig{Submit: s.now, Tier: p.tier, Deadline: p.due})
	p.e = s.q.AddEntry(g, p.r, 0)
	p.e.Data = p
	p.left = p.items
	s.update(p)
	return p
}

func (s *sim) update(j *job) {
	head := min(j.chunk, j.left)
	s.q.Update(s.now, j.e, int(head), j.left-head)
}

// tryServe picks one task, if one may start now, ends it at once and returns its job.
func (s *sim) tryServe() (*job, bool) {
	p, ok := s.q.Next(s.now)
	if !ok {
		return nil, false
	}
	j := p.Entry.Data.(*job)
	j.left -= int64(p.Cost)
	j.served += int64(p.Cost)
	s.update(j)
	s.q.Done(s.now, p, ms)
	return j, true
}

// serve is tryServe where something may start.
func (s *sim) serve() *job {
	s.t.Helper()
	j, ok := s.tryServe()
	if !ok {
		s.t.Fatalf("nothing to run, wake in %d ns", s.q.Wake()-s.now)
	}
	return j
}
