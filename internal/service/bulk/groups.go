package bulk

import (
	"context"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/core/fault"
	"github.com/weirhq/weir/internal/service/stored"
)

// ErrorGroups returns the failures of a bulk action by group, the largest first.
func (s *Bulks) ErrorGroups(ctx context.Context, id string) ([]api.ErrorGroup, error) {
	b, x, err := s.WithExtra(ctx, id)
	if err != nil {
		return nil, err
	}
	groups, err := b.ErrorGroups(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]api.ErrorGroup, 0, len(groups))
	for _, g := range groups {
		out = append(out, ErrorGroup(id, &x, &g))
	}
	return out, nil
}

// ErrorGroup returns a group of failures as the API shows it.
func ErrorGroup(id string, x *stored.Extra, g *weir.ErrorGroup) api.ErrorGroup {
	out := api.ErrorGroup{
		Step: g.Step, Action: x.ActionOf(g.Step), Code: g.Code, Message: g.Message, Count: g.Count, Missed: g.Missed,
		Example: g.Sample, First: g.First, Last: g.Last, Sample: ItemName(id, g.Item),
	}
	if g.Other {
		out.Code, out.Message = OtherCode, OtherMessage
	}
	out.Unclear = fault.Unclear(out.Code, out.Message)
	return out
}

// OtherCode and OtherMessage belong to the failures of a step that have no group of their own.
const (
	OtherCode    = "other"
	OtherMessage = "failures that have no group of their own"
)
