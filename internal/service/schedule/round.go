package schedule

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/heap"
	"github.com/weirhq/weir/store"
)

// round is the state of a running keeper. It belongs to the goroutine of Run.
type round struct {
	k      *Keeper
	known  map[string]*watched
	queue  heap.Heap[outcome] // an entry is valid if its schedule still has this time
	busy   int
	done   chan outcome
	lookAt time.Time // when to read all schedules; by the monotonic clock
	seed   maphash.Seed
}

// watched is one schedule that this keeper handles.
type watched struct {
	sum  uint64    // of the record from which at was derived, 0 for none
	at   time.Time // when there is something to do, zero for never
	busy bool
	seen bool
}

// outcome says when a schedule has something to do, and whether its record is unchanged.
type outcome struct {
	id   string
	at   time.Time
	same bool
}

// Before orders outcomes by time.
func (o outcome) Before(p outcome) bool { return o.at.Before(p.at) }

// look reads all schedules. Unchanged ones are not decoded.
func (r *round) look(ctx context.Context) {
	began := time.Now()
	err := r.lookAtAll(ctx)
	if err != nil {
		r.k.complain(ctx, "", err)
	}
	r.forget(err == nil)
	r.lookAt = time.Now().Add(max(lookEvery, lookShare*time.Since(began)))
}

// lookAtAll reads the stored records, page by page; see [records.New] for their names.
func (r *round) lookAtAll(ctx context.Context) error {
	const prefix, pageSize = kind + "/", 64
	for after, more := "", true; more; {
		page, err := r.k.opts.Registry.List(ctx, prefix, after, pageSize)
		if err != nil {
			return fmt.Errorf("list schedules: %w", err)
		}
		for _, stored := range page {
			after = stored.Name
			if id := strings.TrimPrefix(after, prefix); r.k.opts.Owns(id) {
				r.see(ctx, id, maphash.Bytes(r.seed, stored.Value))
			}
		}
		more = len(page) == pageSize
	}
	return nil
}

// see records when a schedule has something to do, if its record has changed.
func (r *round) see(ctx context.Context, id string, sum uint64) {
	w := r.watch(id)
	if w.busy || w.sum == sum {
		return
	}
	at, err := r.k.upcoming(ctx, id)
	switch {
	case errors.Is(err, weir.ErrNotFound): // removed just now
	case errors.Is(err, store.ErrCorrupt), refused(err): // logged once, because its sum is recorded
		r.k.opts.Logger.LogAttrs(ctx, slog.LevelError, "cannot read a schedule", slog.String("schedule", id), slog.Any("error", err))
	case err != nil:
		r.k.complain(ctx, id, err)
		return
	}
	w.sum = sum
	r.plan(id, w, at)
}

// watch returns the entry of a schedule, which was seen just now.
func (r *round) watch(id string) *watched {
	w := r.known[id]
	if w == nil {
		w = &watched{}
		r.known[id] = w
	}
	w.seen = true
	return w
}

// plan records when there is something to do.
func (r *round) plan(id string, w *watched, at time.Time) {
	if !at.IsZero() && !at.Equal(w.at) {
		r.queue.Push(outcome{id: id, at: at})
	}
	w.at = at
}

// forget drops schedules that are gone or not ours, unless not everything could be read.
func (r *round) forget(complete bool) {
	for id, w := range r.known {
		if !w.seen && !w.busy && complete {
			delete(r.known, id)
		}
		w.seen = false
	}
}

// first returns the schedule that has something to do first. It drops outdated entries on the way.
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

// start works on due schedules, as many at once as allowed.
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
		go func() {
			at, same := r.k.work(ctx, o.id)
			r.done <- outcome{o.id, at, same}
		}()
	}
}

// finished records the outcome of a schedule. If its record may have changed, it is read again.
func (r *round) finished(o outcome) {
	r.busy--
	w := r.known[o.id]
	w.busy = false
	if !o.same {
		w.sum = 0
	}
	r.plan(o.id, w, o.at)
}

// wait waits for the schedules that are being worked on.
func (r *round) wait() {
	for r.busy > 0 {
		r.finished(<-r.done)
	}
}

// idleFor returns how long nothing is due. It is never longer than until the next look, so that a
// change of the clock is noticed.
func (r *round) idleFor() time.Duration {
	idle := time.Until(r.lookAt)
	if r.busy < r.k.opts.AtOnce { // otherwise nothing can start before one of them ends
		if o, ok := r.first(); ok {
			idle = min(idle, o.at.Sub(r.k.now()))
		}
	}
	return max(idle, 0)
}
