package result

import (
	"context"
	"fmt"
	"iter"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/bulk"
	"github.com/weirhq/weir/report"
)

// DLQItems returns a page of the failed items that are left, the newest bulk action first, and the
// item at which the next page begins; empty: this is the last page. A page may hold fewer items
// than limit although more follow.
func (s *Results) DLQItems(ctx context.Context, d DLQ, from string, limit int) (list []api.ItemResult, next string, err error) {
	of, at := "", int64(0)
	if from != "" {
		if of, at, err = bulk.ParseItemName(from); err != nil {
			return nil, "", err
		}
	}
	var c scan
	for l, err := range s.lots(ctx, &d, of) {
		if err != nil {
			return nil, "", err
		}
		if l.id != of {
			at = 0
		}
		if c.over() {
			return list, bulk.ItemName(l.id, 0), nil
		}
		var full bool
		list, next, full, err = s.lotItems(ctx, &d, l, at, list, limit, &c)
		if full || err != nil {
			return list, next, err
		}
	}
	return list, "", nil
}

// lotItems adds the items of a lot to a page, until it is full.
func (s *Results) lotItems(ctx context.Context, d *DLQ, l *lot, at int64, list []api.ItemResult, limit int,
	c *scan) (_ []api.ItemResult, next string, full bool, err error) {
	meant, err := newChoice(l.noted.Entries, &handling{Which: d.selector()}, &l.extra)
	if err != nil {
		return nil, "", false, err
	}
	turn := func(end int64, opened bool) bool {
		c.count(opened)
		if !c.over() || end >= l.bulk.Items() {
			return true
		}
		next, full = bulk.ItemName(l.id, end), true
		return false
	}
	for x, err := range l.bulk.Rows(ctx, engine.RowOptions{From: at, State: report.StateFailed, Turn: turn}) {
		if err != nil {
			return nil, "", false, err
		}
		yes, err := meant.takes(&x)
		switch {
		case err != nil:
			return nil, "", false, err
		case !yes:
			continue
		case len(list) == limit:
			return list, bulk.ItemName(l.id, x.No), true, nil
		}
		one := itemResult(l.id, &x)
		one.Name, one.Tenant = l.info.Name, l.info.Tenant
		list = append(list, one)
	}
	return list, next, full, nil
}

// DLQExport exports the failed items that are left. after is the last item that the caller
// received.
func (s *Results) DLQExport(_ context.Context, d DLQ, after string) (Export, error) {
	if after != "" {
		if _, _, err := bulk.ParseItemName(after); err != nil {
			return Export{}, &weir.FieldError{Code: "bad_cursor", Field: "after",
				Problem: fmt.Sprintf("%q is not an item", after), Fix: "send the item of the last row you received"}
		}
	}
	return Export{Name: "dlq", Rows: func(ctx context.Context, after string) iter.Seq2[api.ItemResult, error] {
		return s.dlqRows(ctx, d, after)
	}}, nil
}

const exportPage = 1000

func (s *Results) dlqRows(ctx context.Context, d DLQ, after string) iter.Seq2[api.ItemResult, error] {
	return func(yield func(api.ItemResult, error) bool) {
		from := ""
		if after != "" {
			of, no, _ := bulk.ParseItemName(after) // it was checked above
			from = bulk.ItemName(of, no+1)
		}
		for more := true; more; more = from != "" {
			list, next, err := s.DLQItems(ctx, d, from, exportPage)
			if err != nil {
				yield(api.ItemResult{}, err)
				return
			}
			for _, x := range list {
				if !yield(x, nil) {
					return
				}
			}
			from = next
		}
	}
}
