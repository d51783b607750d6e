package service

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/feed"
	"github.com/weirhq/weir/internal/edge/mapping"
)

// Preview returns the first items of a bulk action, and the input that its first step would get.
func (s *Service) Preview(ctx context.Context, id string, most int) (api.Preview, error) {
	steps, params, items, end, err := s.peek(ctx, id, most)
	if err != nil {
		return api.Preview{}, err
	}
	defer end()
	text, _, err := planText(steps, params)
	if err != nil {
		return api.Preview{}, err
	}
	if _, err := s.Describe(text); err != nil {
		return api.Preview{}, err
	}
	prog, err := s.programs.compile(mapping.Step{Field: "steps[0]", Input: steps[0].Input, When: steps[0].When}, nil)
	if err != nil {
		return api.Preview{}, err
	}
	a, err := s.actions.find(steps[0].Action)
	if err != nil {
		return api.Preview{}, s.unknownAction("steps[0].action", steps[0].Action)
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
		out.Items = append(out.Items, previewItem(a, prog, params, it, len(out.Items)))
		if len(out.Items) == most {
			break
		}
	}
	return out, nil
}

func previewItem(a *action, prog *mapping.Program, params []byte, it weir.RawItem, no int) api.PreviewItem {
	x := api.PreviewItem{ID: it.ID, Data: append([]byte(nil), it.Value...)}
	in, err := prog.Input(mapping.Item{ID: it.ID, Data: it.Value, Params: params})
	if err != nil {
		f := &weir.FieldError{Code: mapping.ExpressionFailed, Field: "steps[0].input", Problem: err.Error()}
		errors.As(err, &f) // it knows the field within
		x.Faults = append(x.Faults, api.Fault{Code: f.Code, Field: f.Field, Message: f.Problem, Fix: f.Fix})
		return x
	}
	x.Input = in
	if a.schema != nil {
		for _, f := range a.schema.Check(fmt.Sprintf("items[%d]", no), in) {
			x.Faults = append(x.Faults, api.Fault{Code: f.Code, Field: f.Field, Message: f.Problem, Fix: f.Fix})
		}
	}
	return x
}

// peek returns the steps of a bulk action and its first items: from a draft, its source, or the
// engine.
func (s *Service) peek(ctx context.Context, id string, most int) (steps []api.Step, params []byte, items iter.Seq2[weir.RawItem, error], end func(), err error) {
	end = func() {}
	d, err := s.getDraft(ctx, id)
	switch {
	case err == nil && d.Spec.Source != nil:
		f, err := s.open(&d)
		if err != nil {
			return nil, nil, nil, end, err
		}
		return d.Spec.Steps, d.Spec.Params, firstOf(ctx, f), func() { _ = f.Close() }, nil
	case err == nil:
		return d.Spec.Steps, d.Spec.Params, s.itemsOf(ctx, id), end, nil
	case !errors.Is(err, weir.ErrNotFound):
		return nil, nil, nil, end, err
	}
	b, err := s.Bulk(ctx, id)
	if err != nil {
		return nil, nil, nil, end, err
	}
	v, err := s.view(ctx, b)
	if err != nil {
		return nil, nil, nil, end, err
	}
	return v.Steps, v.Params, func(yield func(weir.RawItem, error) bool) {
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
