package bulk

import (
	"context"
	"errors"
	"iter"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/feed"
	"github.com/weirhq/weir/internal/service/stored"
)

// Preview returns the first items of a bulk action, and the input that its first step would get.
func (s *Bulks) Preview(ctx context.Context, id string, most int) (api.Preview, error) {
	steps, params, items, end, err := s.peek(ctx, id, most)
	if err != nil {
		return api.Preview{}, err
	}
	defer end()
	show, err := s.chains.Preview(steps, params)
	if err != nil {
		return api.Preview{}, err
	}
	out := api.Preview{Items: []api.PreviewItem{}}
	for it, err := range items {
		if err != nil {
			var row *feed.PermanentError
			if !errors.As(err, &row) {
				return api.Preview{}, err
			}
			out.Faults = append(out.Faults, api.Fault{Code: row.Code, Message: row.Problem, Fix: row.Fix})
			break
		}
		out.Items = append(out.Items, show(it, len(out.Items)))
		if len(out.Items) == most {
			break
		}
	}
	return out, nil
}

// peek returns the steps of a bulk action and its first items: from a draft, its source, or the
// engine.
func (s *Bulks) peek(ctx context.Context, id string, most int) (steps []stored.Step, params []byte,
	items iter.Seq2[weir.RawItem, error], end func(), err error) {
	end = func() {}
	d, err := s.drafts.Get(ctx, id)
	switch {
	case err == nil && d.Spec.Source != nil:
		f, err := s.drafts.Open(&d)
		if err != nil {
			return nil, nil, nil, end, err
		}
		return d.Spec.Steps, d.Spec.Params, firstOf(ctx, f), func() { _ = f.Close() }, nil
	case err == nil:
		return d.Spec.Steps, d.Spec.Params, s.drafts.Items(ctx, id), end, nil
	case !errors.Is(err, weir.ErrNotFound):
		return nil, nil, nil, end, err
	}
	b, err := s.Bulk(ctx, id)
	if err != nil {
		return nil, nil, nil, end, err
	}
	v, err := s.View(ctx, b)
	if err != nil {
		return nil, nil, nil, end, err
	}
	return stored.StepsOf(v.Steps), v.Params, func(yield func(weir.RawItem, error) bool) {
		for it, err := range b.FirstItems(ctx, most) {
			if !yield(it, err) {
				return
			}
		}
	}, end, nil
}

// firstOf returns the first page of a source that holds items.
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
			if page.Last || len(page.Items) > 0 {
				return
			}
			at = page.Next
		}
	}
}
