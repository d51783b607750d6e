package outlook

import (
	"context"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/lab/forecast"
	"github.com/weirhq/weir/internal/service/bulk"
	"github.com/weirhq/weir/internal/service/chain"
	"github.com/weirhq/weir/internal/service/draft"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/registry"
	"github.com/weirhq/weir/internal/service/stored"
)

// Outlook predicts how bulk actions run.
type Outlook struct {
	engine   *engine.Engine
	bulks    *bulk.Bulks
	drafts   *draft.Drafts
	actions  *registry.Actions
	chains   *chain.Chains
	told     *records.Table[told]
	past     past
	seenLock sync.Mutex
	seen     forecast.Seen // of resources
	passings passings
	etas     etas
}

// past knows how fast bulk actions and calls were.
type past interface {
	// Speeds returns the items per second of the last steps of a bulk action, oldest first.
	Speeds(ctx context.Context, id string, p *weir.Progress) ([]float64, error)
	// CallTime returns how long calls of a resource took on average lately, and of how many; 0: not known.
	CallTime(ctx context.Context, resource string) (took time.Duration, of int64, err error)
}

// New returns predictions for the bulk actions of an engine, and of their past. The keeper stores the forecasts that were
// requested before the start.
func New(e *engine.Engine, b *bulk.Bulks, d *draft.Drafts, a *registry.Actions, c *chain.Chains, before past, k records.Keeper) *Outlook {
	return &Outlook{engine: e, bulks: b, drafts: d, actions: a, chains: c, past: before, told: records.New[told](k, "forecast")}
}

// told is the last forecast that was requested before the start, for the report.
type told struct {
	Items int64 `json:"items"`
	Takes struct {
		P50 stored.Duration `json:"p50"`
		P90 stored.Duration `json:"p90"`
	} `json:"takes"`
}

// Accuracy compares a completed bulk action with its forecast; nil: no forecast, or one of other
// items.
func (s *Outlook) Accuracy(ctx context.Context, r *api.Report) (*api.Accuracy, error) {
	e, err := s.told.Get(ctx, r.ID)
	q := e.Value.Takes
	if err != nil || q.P50 <= 0 || r.State != api.Completed || r.StartedAt.IsZero() || e.Value.Items != r.Counts.Total {
		return nil, records.IgnoreGone(err)
	}
	return &api.Accuracy{P50: api.Duration(q.P50), P90: api.Duration(q.P90), Error: float64(ran(r))/float64(q.P50) - 1}, nil
}

// ran returns how long a bulk action took, without the time in which it waited for people: no forecast knows that.
func ran(r *api.Report) time.Duration {
	took := r.FinishedAt.Sub(r.StartedAt)
	for _, w := range r.Waited {
		switch w.Reason {
		case "approval", "paused", "paused_tenant", "stopped":
			took -= time.Duration(w.Duration)
		}
	}
	return max(took, 0)
}

// Sweep removes the forecasts of bulk actions that are gone.
func (s *Outlook) Sweep(ctx context.Context, gone func(ctx context.Context, id string) (bool, error)) error {
	return s.told.Sweep(ctx, func(ctx context.Context, e records.Entry[told]) (bool, error) { return gone(ctx, e.Name) })
}
