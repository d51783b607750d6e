package result

import (
	"context"
	"errors"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/chain"
	"github.com/weirhq/weir/internal/service/stored"
	"github.com/weirhq/weir/report"
)

// undoMark marks the items of a bulk action whose work an undo takes back. A nil mark marks none.
type undoMark struct {
	by     string
	course *chain.Course
}

// undoMark returns the mark of a bulk action; nil: it was not undone.
func (s *Results) undoMark(ctx context.Context, id string, x *stored.Extra) (*undoMark, error) {
	e, err := s.handled.Get(ctx, id)
	if errors.Is(err, weir.ErrNotFound) || err == nil && e.Value.UndoneBy == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p := chain.UndoPlan(x)
	c, err := p.Undone()
	return &undoMark{e.Value.UndoneBy, c}, err
}

// on marks an item that has passed these steps, if it has done one of them.
func (u *undoMark) on(item *api.ItemResult, row *report.Row, passed []string) {
	if u != nil && len(u.course.UndoOf(row, passed).Done) > 0 {
		item.UndoneBy = u.by
	}
}
