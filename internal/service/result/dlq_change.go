package result

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/stored"
)

// DLQRetry retries the matching failed items of all bulk actions. With the same key it creates
// nothing new.
func (s *Results) DLQRetry(ctx context.Context, d DLQ, want api.DLQRetry, key string) (api.Linked, error) {
	out := api.Linked{BulkActions: []api.BulkAction{}}
	err := s.eachLot(ctx, d, func(l *lot) error {
		h := handling{
			Key: key, Kind: linkRetry, Which: d.selector(), Rate: stored.Rate(want.Rate), NewKeys: want.NewKeys,
			At: time.Now().UTC(), Pending: true,
		}
		if !l.state.Final() && l.state != weir.BulkStopped {
			err := s.count(ctx, l.id, l.noted.Entries, &h)
			out.Skipped += h.Items
			return err
		}
		made, err := s.retry(ctx, l.id, &h)
		out.Items += made.Items
		out.BulkActions = append(out.BulkActions, made.BulkActions...)
		return err
	})
	if err == nil && out.Items == 0 {
		err = nothingLeft(out.Skipped)
	}
	return out, err
}

// DLQDiscard discards the matching failed items.
func (s *Results) DLQDiscard(ctx context.Context, d DLQ, reason, key string) (api.Discarded, error) {
	var out api.Discarded
	err := s.eachLot(ctx, d, func(l *lot) error {
		h := handling{Key: cmp.Or(key, fmt.Sprintf("%s.%d", discarded, time.Now().UnixNano())), Kind: discarded,
			Which: d.selector(), Reason: reason, At: time.Now().UTC()}
		noted, err := s.begin(ctx, l.id, &h)
		if err != nil {
			return err
		}
		e, err := s.handled.Get(ctx, l.id)
		if _, have := e.Value.find(noted); have != nil {
			out.Items += have.Items
		}
		return err
	})
	if err == nil && out.Items == 0 {
		err = nothingLeft(0)
	}
	return out, err
}

// eachLot calls do for every bulk action that may have matching failed items, and skips those that
// have none.
func (s *Results) eachLot(ctx context.Context, d DLQ, do func(*lot) error) error {
	for l, err := range s.lots(ctx, &d, "") {
		if err != nil {
			return err
		}
		err = do(l)
		var none *weir.FieldError
		if errors.As(err, &none) && none.Code == "no_items" {
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func nothingLeft(skipped int64) error {
	e := &weir.FieldError{Code: "no_items",
		Problem: "no failed item matches, or every match was already retried or discarded",
		Fix:     "list the remaining groups with GET /v1/dlq/groups"}
	if skipped > 0 {
		e.Problem = fmt.Sprintf("the %d matching items belong to bulk actions that are still running", skipped)
		e.Fix = "wait until they end, or cancel them first"
	}
	return e
}
