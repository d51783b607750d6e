package outlook

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/mapping"
	"github.com/weirhq/weir/internal/lab/forecast"
	"github.com/weirhq/weir/internal/service/chain"
)

// mostLooked bounds the items that are sampled to estimate the conditions of a bulk action.
const mostLooked = 2000

// passings caches the estimates by bulk action. Conditions do not change while no items are added.
type passings struct {
	mu  sync.Mutex
	had map[lookedAt][]chain.Passing
}

type lookedAt struct {
	id    string
	items int64
}

// conditions estimates, from a sample, for which share of the items each condition allows the
// call. A condition on an earlier step's output says nothing yet.
func (s *Outlook) conditions(ctx context.Context, b *api.BulkAction, w *forecast.Work) error {
	c, err := s.chains.Conditions(b)
	if c == nil || err != nil || b.ID == "" || b.State == api.Draft && b.Source != nil { // it has no items to look at yet
		return err
	}
	key := lookedAt{b.ID, b.Counts.Total}
	known := s.passings.get(key)
	if known == nil {
		if known, err = s.lookAt(ctx, b.ID, c); err != nil {
			return err
		}
		s.passings.put(key, known)
	}
	for i, k := range known {
		if k.Came > 0 {
			w.Steps[i].Looked = k.Came
			w.Steps[i].Skips, w.Steps[i].LeftOut = float64(k.Skipped)/float64(k.Came), float64(k.Left)/float64(k.Came)
		}
	}
	return nil
}

// lookAt applies the conditions to a sample of items.
func (s *Outlook) lookAt(ctx context.Context, id string, c *chain.Course) ([]chain.Passing, error) {
	out := make([]chain.Passing, c.Len())
	n := 0
	for it, err := range s.someItems(ctx, id) {
		if err != nil {
			return nil, err
		}
		c.Count(out, mapping.Item{ID: it.ID, Data: it.Value})
		if n++; n == mostLooked {
			break
		}
	}
	return out, nil
}

// someItems yields items from all over a bulk action, or the first items of a draft.
func (s *Outlook) someItems(ctx context.Context, id string) iter.Seq2[weir.RawItem, error] {
	b, err := s.engine.Get(ctx, weir.BulkID(id))
	switch {
	case err == nil:
		return b.SomeItems(ctx, mostLooked)
	case errors.Is(err, weir.ErrNotFound):
		return s.drafts.Items(ctx, id)
	}
	return func(yield func(weir.RawItem, error) bool) { yield(weir.RawItem{}, err) }
}

func (p *passings) get(of lookedAt) []chain.Passing {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.had[of]
}

func (p *passings) put(of lookedAt, now []chain.Passing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.had == nil || len(p.had) > mostETAs {
		p.had = map[lookedAt][]chain.Passing{}
	}
	p.had[of] = now
}
