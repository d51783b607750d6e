package schedule

import (
	"context"
	"log/slog"
	"time"

	"github.com/weirhq/weir/internal/heap"
	"github.com/weirhq/weir/internal/records"
)

// round is what a running keeper knows. It belongs to the goroutine of Run.
type round struct {
	k      *Keeper
	known  map[string]*watched
	queue  heap.Heap[outcome] // an entry counts if it is still what its schedule says
	busy   int
	done   chan outcome
	lookAt time.Time // when to read all schedules; by the clock that nobody sets
}

// watched is one schedule of which this keeper takes care.
type watched struct {
	version string    // as of which at was found
	at      time.Time // when there is something to do, zero for never
	busy    bool
	seen    bool
}

// damaged is the version of a schedule that cannot be read; no version is such.
const damaged = "damaged"

// outcome is when a schedule wants to be worked on.
type outcome struct {
	id string
	at time.Time
}

// Before orders outcomes by time.
func (o outcome) Before(p outcome) bool { return o.at.Before(p.at) }

// look reads all schedules. Those that are as they were cost no more than reading them.
func (r *round) look(ctx context.Context) {
	began := time.Now()
	complete := true
	for e, err := range r.k.table.All(ctx, "") {
		switch {
		case err == nil && r.k.opts.Owns(e.Name):
			r.see(&e)
		case err != nil && e.Name != "":
			r.unreadable(e.Name, err)
		case err != nil:
			complete = false
			r.k.complain(ctx, "", err)
		}
	}
	r.forget(complete)
	r.lookAt = time.Now().Add(max(lookEvery, lookShare*time.Since(began)))
}

// see notes when a schedule has something to do.
func (r *round) see(e *records.Entry[Schedule]) {
	w := r.watch(e.Name)
	if w.busy || w.version == e.Version {
		return
	}
	times, err := e.Value.Times()
	if err != nil { // it was good when it was written: another database of time zones
		r.unreadable(e.Name, err)
		return
	}
	w.version = e.Version
	r.plan(e.Name, w, e.Value.upcoming(times, r.k.now()))
}

// unreadable says once that a schedule cannot be fired.
func (r *round) unreadable(id string, err error) {
	if w := r.watch(id); w.version != damaged && !w.busy {
		w.version, w.at = damaged, time.Time{}
		r.k.opts.Logger.Error("cannot read a schedule", slog.String("schedule", id), slog.Any("error", err))
	}
}

// watch is what is known of a schedule, which was seen just now.
func (r *round) watch(id string) *watched {
	w := r.known[id]
	if w == nil {
		w = &watched{}
		r.known[id] = w
	}
	w.seen = true
	return w
}

// plan notes when there is something to do.
func (r *round) plan(id string, w *watched, at time.Time) {
	if !at.IsZero() && !at.Equal(w.at) {
		r.queue.Push(outcome{id, at})
	}
	w.at = at
}

// forget drops what is not there any more, or not ours, unless not everything could be read.
func (r *round) forget(complete bool) {
	for id, w := range r.known {
		if !w.seen && !w.busy && complete {
			delete(r.known, id)
		}
		w.seen = false
	}
}

// first is the schedule that has something to do first. What is no longer true is dropped on the way.
func (r *round) first() (o outcome, ok bool) {
	for len(r.queue) > 0 {
		o = r.queue[0]
		if w := r.known[o.id]; w != nil && !w.busy && w.at.Equal(o.at) {
			return o, true
		}
		r.queue.Pop()
	}
	return o, false
}

// start works on what is due, as many as may be at once.
func (r *round) start(ctx context.Context) {
	now := r.k.now()
	for r.busy < r.k.opts.AtOnce {
		o, ok := r.first()
		if !ok || o.at.After(now) {
			return
		}
		r.queue.Pop()
		w := r.known[o.id]
		w.busy, w.at = true, time.Time{}
		r.busy++
		go func() { r.done <- outcome{o.id, r.k.work(ctx, o.id)} }()
	}
}

// finished notes what came of a schedule. Its version is not known: it is looked at anew.
func (r *round) finished(o outcome) {
	r.busy--
	w := r.known[o.id]
	w.busy, w.version = false, ""
	r.plan(o.id, w, o.at)
}

// wait hears of all that are being worked on.
func (r *round) wait() {
	for r.busy > 0 {
		r.finished(<-r.done)
	}
}

// idleFor is how long nothing is to be done. It is never longer than the next
// look, so that a clock that was set is noticed.
func (r *round) idleFor() time.Duration {
	idle := time.Until(r.lookAt)
	if r.busy < r.k.opts.AtOnce { // or else nothing can be started before one of them ends
		if o, ok := r.first(); ok {
			idle = min(idle, o.at.Sub(r.k.now()))
		}
	}
	return max(idle, 0)
}
