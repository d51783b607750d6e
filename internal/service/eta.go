package service

import (
	"context"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/lab/forecast"
)

const (
	// etaFor is how long an ETA is told, counted down, before it is reckoned again.
	etaFor = time.Second
	// etaShare is how many times as long as an ETA took is waited until the next is
	// reckoned, whoever asks: all of them take a twentieth of a core at most.
	etaShare = 19
	// etaOld is how old an ETA may be when there are so many that none can be reckoned.
	etaOld = 15 * time.Second
	// mostETAs bounds how many are held.
	mostETAs = 1000
)

// etas are the ends of bulk actions that somebody looks at, as the model sees them.
type etas struct {
	mu   sync.Mutex
	told map[weir.BulkID]eta
	next time.Time // none is reckoned before
	load loaded
	busy bool // one is being reckoned
}

// eta is when a bulk action ends, as of some time. A zero end is one that cannot be told.
type eta struct{ end, at time.Time }

// eta is how long a bulk action that runs still takes, by the model that makes
// forecasts, with the present load. It costs a bounded amount: what was told
// a moment ago is counted down. It says false if the model was not asked.
func (s *Service) eta(ctx context.Context, b *engine.BulkAction, p *weir.Progress) (left time.Duration, ok bool) {
	if p.State != weir.BulkRunning || p.Canary || p.Failing() || p.Counts.Total == p.Counts.Ended() || s.engine.TenantPaused(b.Info().Tenant) {
		return 0, false
	}
	known, mine := s.etas.ask(b.ID(), time.Now())
	if mine {
		began := time.Now()
		end, err := s.reckon(ctx, b, p)
		if err != nil {
			end = time.Time{} // what was seen lately has to do
		}
		known = eta{end, time.Now()}
		s.etas.keep(b.ID(), known, time.Since(began))
	}
	if known.end.IsZero() {
		return 0, false
	}
	return max(time.Until(known.end), time.Until(p.Due), time.Millisecond), true
}

// ask returns what is known of a bulk action, and whether the caller is to reckon it anew.
func (e *etas) ask(id weir.BulkID, now time.Time) (known eta, mine bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	known = e.told[id]
	if age := now.Sub(known.at); age < etaFor {
		return known, false
	} else if age > etaOld {
		known = eta{}
	}
	if e.busy || now.Before(e.next) {
		return known, false
	}
	e.busy = true
	return known, true
}

func (e *etas) keep(id weir.BulkID, now eta, took time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.busy, e.next = false, now.at.Add(etaShare*took)
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

// reckon plays what is left of a bulk action. One goroutine does so at a time. The load is looked at once a
// second at most, and less often where that takes long.
func (s *Service) reckon(ctx context.Context, b *engine.BulkAction, p *weir.Progress) (time.Time, error) {
	e := &s.etas
	if time.Since(e.load.at) > etaFor {
		load, err := s.load(ctx)
		if err != nil {
			return time.Time{}, err
		}
		e.load = load
	}
	view, err := s.view(ctx, b)
	if err != nil {
		return time.Time{}, err
	}
	load := e.load.beside(view.ID)
	w, err := s.work(&view, &load, &e.load.limits, 0)
	if err != nil {
		return time.Time{}, err
	}
	if err := s.conditions(ctx, &view, &w); err != nil {
		return time.Time{}, err
	}
	now := time.Now()
	forecast.Underway(&w, &load, p, now)
	left, ends, err := forecast.Left(w, load)
	if err != nil || !ends {
		return time.Time{}, err
	}
	return now.Add(left), nil
}
