package outlook

import (
	"context"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/lab/forecast"
)

const (
	// etaFor is how long an ETA is reused, counted down, before it is computed again.
	etaFor = time.Second
	// etaShare spaces out computations: after an ETA that took t, the next waits etaShare × t, so all
	// of them take a fiftieth of a core at most.
	etaShare = 49
	// etaAhead is how far ahead of that schedule ETAs may run for bulk actions that have none yet.
	etaAhead = 10 * time.Second
	// etaAsked is how long a bulk action that was requested keeps its turn.
	etaAsked = 5 * time.Second
	// etaOld is the maximum age of an ETA when there are too many to compute.
	etaOld = time.Minute
	// mostETAs bounds how many ETAs are held.
	mostETAs = 1000
)

// etas holds the predicted ends of the bulk actions that clients watch.
type etas struct {
	mu    sync.Mutex
	told  map[weir.BulkID]eta
	asked map[weir.BulkID]time.Time // bulk actions whose turn has not come
	next  time.Time                 // no ETA is computed before, except for etaAhead
	load  loaded
	busy  bool // an ETA is being computed
}

// eta is the predicted end of a bulk action, as of some time. A zero end is unknown, and zero times around it are said of
// an end that is rather certain.
type eta struct{ end, from, to, at time.Time }

// Left is how long a bulk action still takes. From and To are around it; they are 0 if it is rather certain.
type Left struct{ Likely, From, To time.Duration }

// ETA returns how long a running bulk action still takes, by the forecast model and with the
// present load. Its cost is bounded: a recent ETA is counted down while the next one is computed. It returns false if the model
// was not asked.
func (s *Outlook) ETA(ctx context.Context, b *engine.BulkAction, p *weir.Progress) (left Left, ok bool) {
	if p.State != weir.BulkRunning || p.Canary || p.Failing() || p.Counts.Total == p.Counts.Ended() ||
		s.engine.TenantPaused(b.Info().Tenant) {
		return Left{}, false
	}
	known, mine := s.etas.ask(b.ID(), time.Now())
	switch {
	case mine && known.end.IsZero():
		known = s.renew(ctx, b, p)
	case mine: // the one that is known will do until the new one is there
		now := *p
		go s.renew(context.WithoutCancel(ctx), b, &now)
	}
	if known.end.IsZero() {
		return Left{}, false
	}
	until := func(end time.Time) time.Duration {
		if due := b.Info().Deadline; !due.IsZero() && end.After(due) {
			end = due // it ends then, with the items done so far
		}
		return max(time.Until(end), time.Until(p.Due), time.Millisecond)
	}
	if left.Likely = until(known.end); !known.to.IsZero() {
		left.From, left.To = until(known.from), until(known.to)
	}
	return left, true
}

// renew computes the ETA of a bulk action. The caller has its turn.
func (s *Outlook) renew(ctx context.Context, b *engine.BulkAction, p *weir.Progress) eta {
	ctx, cancel := context.WithTimeout(ctx, etaAhead)
	defer cancel()
	began := time.Now()
	known, err := s.reckon(ctx, b, p)
	if err != nil {
		known = eta{} // the recent rate has to do
	}
	known.at = time.Now()
	s.etas.keep(b.ID(), known, time.Since(began))
	return known
}

// ask returns the known ETA of a bulk action, and whether the caller must compute it again. The
// oldest ETA is first, in whatever order clients ask.
func (e *etas) ask(id weir.BulkID, now time.Time) (known eta, mine bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	known = e.told[id]
	if age := now.Sub(known.at); age < etaFor {
		return known, false
	} else if age > etaOld {
		known = eta{}
	}
	from := e.next
	if known.at.IsZero() {
		from = from.Add(-etaAhead)
	}
	if e.busy || now.Before(from) || e.older(id, now) {
		if e.asked == nil {
			e.asked = map[weir.BulkID]time.Time{}
		}
		e.asked[id] = now
		return known, false
	}
	e.busy = true
	delete(e.asked, id)
	return known, true
}

// older reports whether another bulk action's turn comes before that of id.
func (e *etas) older(id weir.BulkID, now time.Time) bool {
	at := e.told[id].at
	for other, asked := range e.asked {
		if now.Sub(asked) > etaAsked {
			delete(e.asked, other)
		} else if other != id && e.told[other].at.Before(at) {
			return true
		}
	}
	return false
}

func (e *etas) keep(id weir.BulkID, now eta, took time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.busy = false
	if e.next.Before(now.at) {
		e.next = now.at
	}
	e.next = e.next.Add(etaShare * took)
	if e.told == nil {
		e.told = map[weir.BulkID]eta{}
	}
	e.told[id] = now
	if len(e.told) > mostETAs {
		for id, x := range e.told {
			if now.at.Sub(x.at) > etaOld {
				delete(e.told, id)
			}
		}
	}
	if len(e.told) > 2*mostETAs {
		e.told = map[weir.BulkID]eta{id: now}
	}
}

// reckon simulates the rest of a bulk action. One goroutine does so at a time. The load is read
// once a second at most, and less often if reading it is slow.
func (s *Outlook) reckon(ctx context.Context, b *engine.BulkAction, p *weir.Progress) (known eta, err error) {
	e := &s.etas
	if time.Since(e.load.at) > etaFor {
		load, err := s.load(ctx)
		if err != nil {
			return known, err
		}
		e.load = load
	}
	now := time.Now()
	load := e.load.beside(string(b.ID()))
	w, err := s.rest(ctx, b, p, &load, &e.load.limits, now)
	if err != nil {
		return known, err
	}
	left, ends, err := forecast.Left(w, load)
	if err != nil || !ends {
		return known, err
	}
	known.end = now.Add(left)
	speeds, err := s.past.Speeds(ctx, string(b.ID()), p)
	if err != nil {
		return known, err
	}
	if from, to := forecast.Range(left, speeds, &w, &load); to > 0 {
		known.from, known.to = now.Add(from), now.Add(to)
	}
	return known, nil
}

// rest returns what is left of a running bulk action. It adds to the load what its items have shown
// of its resources.
func (s *Outlook) rest(ctx context.Context, b *engine.BulkAction, p *weir.Progress, load *forecast.Load, limits *weir.Limits,
	now time.Time) (w forecast.Work, err error) {
	view, err := s.bulks.View(ctx, b)
	if err != nil {
		return w, err
	}
	if w, err = s.work(&view, load, limits, 0); err != nil {
		return w, err
	}
	if err := s.conditions(ctx, &view, &w); err != nil {
		return w, err
	}
	forecast.Underway(&w, load, p, now)
	return w, nil
}
