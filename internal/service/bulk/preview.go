package bulk

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/feed"
	"github.com/weirhq/weir/internal/service/draft"
	"github.com/weirhq/weir/internal/service/stored"
)

// Preview returns the first items of a bulk action, and the input that its first step would get.
func (s *Bulks) Preview(ctx context.Context, id string, most int) (api.Preview, error) {
	p, err := s.peek(ctx, id, most)
	if err != nil {
		return api.Preview{}, err
	}
	defer p.end()
	show, err := s.chains.Preview(p.steps, p.params)
	if err != nil {
		return api.Preview{}, err
	}
	out := api.Preview{Items: []api.PreviewItem{}}
	for it, err := range p.items {
		if bad := (*refusedError)(nil); errors.As(err, &bad) {
			if len(out.Items) < most {
				out.Items = append(out.Items, bad.shown())
			}
			continue
		}
		if err != nil {
			fault, ok := p.faultOf(err)
			if !ok {
				return api.Preview{}, err
			}
			out.Faults = append(out.Faults, fault)
			break
		}
		out.Items = append(out.Items, show(it, len(out.Items)))
		if len(out.Items) == most {
			break
		}
	}
	return out, nil
}

// peeked is the beginning of a bulk action.
type peeked struct {
	steps  []stored.Step
	params []byte
	items  iter.Seq2[weir.RawItem, error]
	source *stored.Source // that the items are read from, nil for others
	end    func()
}

// faultOf tells why the source cannot be read any further; false: the error is not about that.
func (p *peeked) faultOf(err error) (api.Fault, bool) {
	if row := (*feed.PermanentError)(nil); errors.As(err, &row) {
		return api.Fault{Code: row.Code, Message: row.Problem, Fix: row.Fix}, true
	}
	if later := (*weir.FieldError)(nil); errors.As(draft.Unread(p.source, err), &later) {
		return api.Fault{Code: later.Code, Field: later.Field, Message: later.Problem, Fix: later.Fix}, true
	}
	return api.Fault{}, false
}

// peek returns the steps of a bulk action and its first items: from a draft, its source, or the
// engine.
func (s *Bulks) peek(ctx context.Context, id string, most int) (*peeked, error) {
	d, err := s.drafts.Get(ctx, id)
	switch {
	case err == nil && d.Spec.Source != nil:
		f, err := s.drafts.Peek(&d)
		if err != nil {
			return nil, err
		}
		return &peeked{d.Spec.Steps, d.Spec.Params, firstOf(ctx, f), d.Spec.Source, func() { _ = f.Close() }}, nil
	case err == nil:
		return &peeked{d.Spec.Steps, d.Spec.Params, s.drafts.Items(ctx, id), nil, func() {}}, nil
	case !errors.Is(err, weir.ErrNotFound):
		return nil, err
	}
	b, err := s.Bulk(ctx, id)
	if err != nil {
		return nil, err
	}
	v, err := s.View(ctx, b)
	if err != nil {
		return nil, err
	}
	return &peeked{stored.StepsOf(v.Steps), v.Params, b.FirstItems(ctx, most), nil, func() {}}, nil
}

// refusedError is a row of a source that is not an item.
type refusedError struct{ feed.Refused }

// Error implements error.
func (e *refusedError) Error() string { return e.Why.Error() }

// shown returns the row as an item without an id.
func (e *refusedError) shown() api.PreviewItem {
	out := api.PreviewItem{Data: json.RawMessage("null"), Faults: []api.Fault{{Code: e.Why.Code, Message: e.Why.Problem, Fix: e.Why.Fix}}}
	if json.Valid(e.Doc) {
		out.Data = e.Doc
	}
	return out
}

// firstOf returns the first page of a source that holds rows: its items, then what is none.
func firstOf(ctx context.Context, f feed.Feed) iter.Seq2[weir.RawItem, error] {
	return func(yield func(weir.RawItem, error) bool) {
		at := feed.Cursor("")
		for range 10 {
			page, err := f.Read(ctx, at)
			if err != nil {
				yield(weir.RawItem{}, err)
				return
			}
			for _, it := range page.Items {
				if !yield(it, nil) {
					return
				}
			}
			for _, bad := range page.Refused {
				if !yield(weir.RawItem{}, &refusedError{bad}) {
					return
				}
			}
			if page.Last || len(page.Items)+len(page.Refused) > 0 {
				return
			}
			at = page.Next
		}
	}
}
