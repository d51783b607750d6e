package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
)

// errorLine is a group of failures, with how many of them were not retried or discarded yet.
type errorLine struct {
	api.ErrorGroup
	Left   int64
	Became string // what happened to the others
}

// Gone counts the items of the group that were retried or discarded.
func (l errorLine) Gone() int64 { return l.Count - l.Left }

// mostErrorGroups is more than a bulk action has.
const mostErrorGroups = 1000

// errorLines returns why items of a bulk action failed, and how many failed items can still be retried.
func (v *visit) errorLines(ctx context.Context, h *bulkHead) (lines []errorLine, left int64, err error) {
	if h.Progress.Counts.Failed == 0 {
		return nil, 0, nil
	}
	groups, err := v.api.ErrorGroups(ctx, h.Bulk.ID)
	if err != nil {
		return nil, 0, err
	}
	open, err := v.api.DLQGroups(ctx, api.DLQFilter{BulkAction: h.Bulk.ID}, mostErrorGroups)
	if err != nil {
		return nil, 0, err
	}
	type kind struct{ step, code, message string }
	still := map[kind]int64{}
	for _, g := range open.Data {
		still[kind{g.Step, g.Code, g.Message}] += g.Count
	}
	became := becameOf(h, open.Items)
	for _, g := range groups {
		lines = append(lines, errorLine{g, min(g.Count, still[kind{g.Step, g.Code, g.Message}]), became})
	}
	return lines, open.Items, nil
}

// becameOf says what happened to the failed items that are not left.
func becameOf(h *bulkHead, left int64) string {
	gone := h.Progress.Counts.Failed - left
	switch {
	case h.Bulk.UndoneBy != "":
		return "not retried before the undo"
	case len(h.Bulk.Retries) == 0:
		return "discarded"
	case h.Bulk.Retried != nil && h.Bulk.Retried.Failed == gone:
		return "retried"
	}
	return "retried or discarded"
}

// mostOutcomes bounds how many items are read to tell how those of one page ended in retries.
const mostOutcomes = 10_000

// outcomes returns how items of a bulk action ended in its retries, by the name of the item. The items are in the order
// of the bulk action. Items that no retry took are left out, and those far behind the first one.
func (v *visit) outcomes(ctx context.Context, b *api.BulkAction, items []api.ItemResult) (map[string]api.ItemResult, error) {
	if len(b.Retries) == 0 || len(items) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rows, err := v.api.ResultsAfter(ctx, b.ID, "all", "ndjson", itemBefore(items[0].Item))
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // it is only read
	found, last := map[string]api.ItemResult{}, items[len(items)-1].Item
	dec := json.NewDecoder(rows)
	for range mostOutcomes {
		var x api.ItemResult
		switch err := dec.Decode(&x); {
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			return nil, err
		}
		if x.RetriedBy != "" {
			found[x.Item] = x
		}
		if x.Item == last {
			break
		}
	}
	return found, nil
}

// itemBefore returns the name of the item before one, empty for the first.
func itemBefore(item string) string {
	at := strings.LastIndexByte(item, '-')
	no, err := strconv.ParseInt(item[at+1:], 10, 64)
	if err != nil || no == 0 {
		return ""
	}
	return fmt.Sprintf("%s-%d", item[:at], no-1)
}

// retried says what became of an item after its bulk action.
type retried struct {
	By   string // the retry that took it; empty: none did
	Sign sign   // how it is there
	Of   string // the bulk action whose items this one retries
	// Can says that it can be retried: it failed, its bulk action has ended, and no retry took it.
	Can bool
}

// retriedOf returns the retry state of an item; it is zero if the bulk action is no longer kept.
func (v *visit) retriedOf(ctx context.Context, x *api.ItemResult) (r retried, err error) {
	b, err := v.api.Get(ctx, x.BulkAction)
	if client.IsCode(err, "not_found") {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	r.Of = b.RetryOf
	if x.State != "failed" {
		return r, nil
	}
	found, err := v.outcomes(ctx, &b, []api.ItemResult{*x})
	if after, ok := found[x.Item]; ok {
		r.By, r.Sign = after.RetriedBy, itemSign(after.State)
	}
	r.Can = r.By == "" && b.UndoneBy == "" && (b.State.Final() || b.State == api.Stopped)
	return r, err
}
