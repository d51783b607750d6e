package model

import (
	"github.com/weirhq/weir/internal/core/scale"
	"github.com/weirhq/weir/internal/core/sched"
)

// causes is the number of reasons to wait, two more than those of the queue.
const causes = sched.NumCauses + 2

const (
	// causeRetry is a bulk action all of whose items wait for another attempt.
	causeRetry = causes - 2
	// causePace is a step that the bulk action's own rate holds up.
	causePace = causes - 1
)

// waitingOn returns the name of a cause in reports; empty: not a reason to wait.
func waitingOn(cause int) string {
	switch cause {
	case causeRetry:
		return "retry"
	case causePace:
		return "rate"
	}
	return sched.Cause(cause).WaitingOn()
}

// mostLooks bounds how many bulk actions are asked each second what they wait for.
const mostLooks = 256

// Items counts items of calls that started or ended, each attempt for itself.
type Items struct {
	Started int64 `json:"started"`
	Done    int64 `json:"done"`
	Failed  int64 `json:"failed"`
	Refused int64 `json:"refused"`
}

func (n *Items) add(m Items) {
	n.Started, n.Done, n.Failed, n.Refused = n.Started+m.Started, n.Done+m.Done, n.Failed+m.Failed, n.Refused+m.Refused
}

// Second is what one second of a resource looked like.
type Second struct {
	// At is the second, from 1: it tells of what was before.
	At int `json:"at"`
	// Workers are those of all lanes; Needed is what the load would keep busy.
	Workers int     `json:"workers"`
	Needed  float64 `json:"needed"`
	// Load is how many tasks became ready, Ready how many wait at its end.
	Load  int `json:"load"`
	Ready int `json:"ready"`
	// InFlight is the tasks in flight at its end.
	InFlight int `json:"in_flight"`
	Items
	// Rate and Concurrency are the bounds in force, 0 for none.
	Rate        float64 `json:"rate"`
	Concurrency int     `json:"concurrency"`
	// Breaker is closed, open or half-open.
	Breaker string `json:"breaker"`
	// Waiting is what ready tasks wait for at its end, empty for nothing.
	Waiting string `json:"waiting"`
	// Reason is why the lane with the most workers has as many.
	Reason string `json:"reason"`
}

// observe ends a second: it is written down, and every lane is told how many
// workers to have.
func (m *machine) observe() {
	m.look()
	m.observed = m.Now()
	c := scale.Config{Min: m.w.Workers.Min, Max: m.w.Workers.Max}
	from := (m.Now() - 1) / second * second
	for _, r := range m.resources {
		s := r.begin(m.Now())
		r.splitConcurrency()
		for _, l := range r.lanes {
			if !l.used {
				continue
			}
			s.Load += l.second.load
			l.decide(m.policy, c)
			s.Needed += l.need
			s.Workers += l.workers
			s.Ready += l.tasks
			s.InFlight += l.inFlight
		}
		r.series = append(r.series, r.explain(s))
		r.settle(from)
		r.second = Items{}
	}
}

// splitConcurrency tells the lanes what is theirs of the tasks that may be in flight.
func (r *resource) splitConcurrency() {
	if r.Concurrency == 0 {
		return
	}
	wants := make([]int, len(r.lanes))
	for i, l := range r.lanes {
		wants[i] = l.tasks + l.inFlight
	}
	for i, n := range scale.Split(r.Concurrency, wants) {
		r.lanes[i].bound = n
	}
}

// begin fills in what the resource itself knows.
func (r *resource) begin(now int64) Second {
	s := Second{At: int((now + second - 1) / second), Items: r.second, Rate: float64(r.Rate), Concurrency: r.Concurrency}
	r.show(&s)
	r.all.add(r.second)
	return s
}

// explain says what the resource waits for, and why it has so many workers.
func (r *resource) explain(s Second) Second {
	var most *lane
	for _, l := range r.lanes {
		if most == nil || l.tasks > most.tasks || l.tasks == most.tasks && l.workers > most.workers {
			most = l
		}
	}
	s.Reason = string(most.decision.Reason)
	if s.Ready > 0 || s.InFlight > 0 || s.Started > 0 {
		r.busy += r.m.Now() - (r.m.Now()-1)/second*second
	}
	if most.tasks > 0 {
		s.Waiting = waitingOn(int(most.cause))
	}
	return s
}

// look asks bulk actions what they wait for. Of many, some are asked.
func (m *machine) look() {
	kept := m.active[:0]
	for _, b := range m.active {
		if b.end < 0 {
			kept = append(kept, b)
		}
	}
	clear(m.active[len(kept):])
	m.active = kept
	stride := 1 + len(kept)/mostLooks
	for i := 0; i < len(kept); i += stride {
		kept[i].look()
	}
}

func (b *bulk) look() {
	b.looks++
	open, idle := false, true
	for i := range b.Steps {
		var seen [causes]bool
		for _, p := range b.pieces {
			s := p.steps[i]
			idle = idle && s.flying == 0
			if s.pace.Waits {
				seen[causePace], open = true, true
			}
			if s.head() > 0 {
				seen[p.part.queue.Cause(s.entry)], open = true, true
			}
		}
		b.stream.waited[i].add(seen)
	}
	if !open && idle {
		b.stream.waited[0][causeRetry]++
	}
}

// waited counts the looks that found something waiting, by cause.
type waited [causes]int

func (w *waited) add(seen [causes]bool) {
	for c, yes := range seen {
		if yes {
			w[c]++
		}
	}
}
