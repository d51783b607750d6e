package service

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/mapping"
	"github.com/weirhq/weir/internal/lab/forecast"
)

// mostLooked bounds the items that are sampled to estimate the conditions of a bulk action.
const mostLooked = 2000

// passing counts how a step's condition decided for the sampled items that reached it. A step that
// was not sampled has no items that reached it.
type passing struct{ came, skipped, left int64 }

// passings caches the estimates by bulk action. Conditions do not change while no items are added.
type passings struct {
	mu  sync.Mutex
	had map[lookedAt][]passing
}

type lookedAt struct {
	id    string
	items int64
}

// conditions estimates, from a sample, for which share of the items each condition allows the
// call. A condition on an earlier step's output says nothing yet.
func (s *Service) conditions(ctx context.Context, b *api.BulkAction, w *forecast.Work) error {
	c, err := s.conditionsOf(b)
	if c == nil || err != nil {
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
		if k.came > 0 {
			w.Steps[i].Looked = k.came
			w.Steps[i].Skips, w.Steps[i].LeftOut = float64(k.skipped)/float64(k.came), float64(k.left)/float64(k.came)
		}
	}
	return nil
}

// conditionsOf returns the conditions of a bulk action, nil where they need outputs; nil if it has
// no conditions.
func (s *Service) conditionsOf(b *api.BulkAction) (*course, error) {
	c := &course{params: b.Params}
	some, open := false, false
	for i, st := range b.Steps {
		var prog *mapping.Program
		if st.When != "" {
			var err error
			if prog, err = s.programs.compile(mapping.Step{Field: fmt.Sprintf("steps[%d]", i), When: st.When}, c.names); err != nil {
				return nil, err
			}
			if len(prog.Needs()) > 0 || open && len(prog.NeedsDone()) > 0 {
				prog, open = nil, true
			}
			some = some || prog != nil
		}
		id := stepID(st)
		c.names, c.progs = append(c.names, id), append(c.progs, prog)
		c.steps = append(c.steps, &planStep{ID: id, Action: st.Action, When: st.When, Otherwise: st.Otherwise})
	}
	if !some {
		return nil, nil
	}
	return c, nil
}

// lookAt applies the conditions to a sample of items.
func (s *Service) lookAt(ctx context.Context, id string, c *course) ([]passing, error) {
	out := make([]passing, len(c.steps))
	n := 0
	for it, err := range s.someItems(ctx, id) {
		if err != nil {
			return nil, err
		}
		c.count(out, mapping.Item{ID: it.ID, Data: it.Value})
		if n++; n == mostLooked {
			break
		}
	}
	return out, nil
}

// count records how one item passes the conditions.
func (c *course) count(to []passing, it mapping.Item) {
	for i, prog := range c.progs {
		if prog == nil {
			continue
		}
		to[i].came++
		switch o := condition(c.steps[i], prog, c.about(i, it)); o.Kind {
		case weir.NoOutcome:
		case weir.Done:
			to[i].skipped++
		default:
			to[i].left++
			return
		}
	}
}

// someItems yields items from all over a bulk action, or the first items of a draft.
func (s *Service) someItems(ctx context.Context, id string) iter.Seq2[weir.RawItem, error] {
	b, err := s.engine.Get(ctx, weir.BulkID(id))
	switch {
	case err == nil:
		return b.SomeItems(ctx, mostLooked)
	case errors.Is(err, weir.ErrNotFound):
		return s.itemsOf(ctx, id)
	}
	return func(yield func(weir.RawItem, error) bool) { yield(weir.RawItem{}, err) }
}

func (p *passings) get(of lookedAt) []passing {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.had[of]
}

func (p *passings) put(of lookedAt, now []passing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.had == nil || len(p.had) > mostETAs {
		p.had = map[lookedAt][]passing{}
	}
	p.had[of] = now
}
