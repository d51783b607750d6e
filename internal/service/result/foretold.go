package result

import (
	"context"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/stored"
)

const (
	// freshFor is how long after its start a bulk action may still be forecast as of then.
	freshFor = time.Minute
	// mostForetold bounds the forecasts per pass: each may take a tenth of a second. If many start at
	// once, a few are enough.
	mostForetold = 2
)

// standing says whether a bulk action that has not ended can be forecast.
type standing int

const (
	resting  standing = iota // it does not run, and may not for an unknown time
	underWay                 // it runs for so long that a forecast would be too late
	fresh                    // it has just begun to run
)

// standingOf returns the standing of a bulk action that has not ended. One with a canary waits for
// approval.
func standingOf(b *engine.BulkAction, p *weir.Progress, now time.Time) standing {
	if p.State != weir.BulkRunning {
		return resting
	}
	if x, err := stored.ParseExtra(b.Info().Extra); err != nil || x.Canary != nil || now.Sub(p.Started) >= freshFor {
		return underWay
	}
	return fresh
}

// foretold holds forecasts of bulk actions as of their start, to compare with the actual
// durations. They are in memory only: a bulk action that this node did not see from start to end
// is not reported.
type foretold struct {
	mu    sync.Mutex
	takes map[string]time.Duration // by bulk action; 0: no forecast, and none will follow
	gone  map[string]bool          // ended at the last pass: they are requested soon or not at all
}

func newForetold() foretold {
	return foretold{takes: map[string]time.Duration{}, gone: map[string]bool{}}
}

// keep forecasts bulk actions that have just begun to run, a few at a time, and drops those that
// have ended.
func (f *foretold) keep(ctx context.Context, s *Results, open map[string]standing) error {
	made := 0
	for id, stands := range open {
		f.mu.Lock()
		_, known := f.takes[id]
		if known && stands == resting || !known && stands == underWay {
			f.takes[id] = 0
		}
		f.mu.Unlock()
		if known || stands != fresh || made == mostForetold {
			continue
		}
		made++
		takes, err := s.outlook.Foretell(ctx, id)
		if err != nil {
			return err
		}
		f.mu.Lock()
		f.takes[id] = takes
		f.mu.Unlock()
	}
	f.forget(open)
	return nil
}

func (f *foretold) forget(open map[string]standing) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.gone
	f.gone = map[string]bool{}
	for id := range f.takes {
		if _, has := open[id]; has {
			continue
		}
		if before[id] {
			delete(f.takes, id)
		} else {
			f.gone[id] = true
		}
	}
}

// Foretold reports whether Error has something to say about a bulk action.
func (v *Surveyor) Foretold(id string) bool {
	v.told.mu.Lock()
	defer v.told.mu.Unlock()
	return v.told.takes[id] > 0
}

// Error returns how much longer a completed bulk action took than was forecast at its start, as a
// share of the forecast: -0.1 is a tenth less. It can be asked once.
func (v *Surveyor) Error(b *api.BulkAction) (share float64, ok bool) {
	f := &v.told
	f.mu.Lock()
	takes := f.takes[b.ID]
	delete(f.takes, b.ID)
	f.mu.Unlock()
	if takes <= 0 || b.State != api.Completed || b.FinishedAt.IsZero() {
		return 0, false
	}
	return float64(b.FinishedAt.Sub(b.StartedAt))/float64(takes) - 1, true
}
