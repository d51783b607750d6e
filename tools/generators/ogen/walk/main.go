//go:build generated

// Walk takes a bulk action from its creation to the retry of its failed items, by the client that ogen generates.
//
//	walk SERVER
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/tools/generators/ogen/weirogen"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := walk(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "walk:", err)
		os.Exit(1)
	}
}

// noKey is the security source for a server without keys.
type noKey struct{}

func (noKey) Bearer(context.Context, weirogen.OperationName) (weirogen.Bearer, error) {
	return weirogen.Bearer{}, nil
}

// as returns what a call returned as the type that is expected of it.
func as[T any](answer any, err error) (t T, _ error) {
	t, ok := answer.(T)
	if err == nil && !ok {
		err = fmt.Errorf("%T: %+v", answer, answer)
	}
	return t, err
}

const items = 3000

func walk(ctx context.Context, server string) error {
	c, err := weirogen.NewClient(server, noKey{})
	if err != nil {
		return err
	}
	story := strconv.FormatInt(time.Now().UnixNano(), 36)
	created, err := as[*weirogen.BulkAction](c.BulkActionCreate(ctx, &weirogen.NewBulkAction{
		Steps:  []weirogen.Step{{Action: "demo.award"}, {Action: "demo.message"}},
		Labels: weirogen.NewOptNewBulkActionLabels(weirogen.NewBulkActionLabels{"story": story}),
	}, weirogen.BulkActionCreateParams{IdempotencyKey: weirogen.NewOptString("create-" + story)}))
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	id := created.ID
	if err := fill(ctx, c, id); err != nil {
		return err
	}
	if err := watch(ctx, c, id); err != nil {
		return err
	}
	if err := after(ctx, c, id, story); err != nil {
		return err
	}
	return refused(ctx, c)
}

func fill(ctx context.Context, c *weirogen.Client, id string) error {
	var lines strings.Builder
	for i := range items {
		fmt.Fprintf(&lines, "{\"id\":\"user-%d\",\"amount\":%d}\n", i, i)
	}
	a, err := as[*weirogen.Appended](c.BulkActionAppend(ctx, &weirogen.BulkActionAppendReqApplicationXNdjson{Data: strings.NewReader(lines.String())},
		weirogen.BulkActionAppendParams{ID: id}))
	if err != nil || a.Accepted != items {
		return fmt.Errorf("append: %+v, %w", a, err)
	}
	if _, err := as[*weirogen.BulkAction](c.BulkActionSeal(ctx, weirogen.NewOptSeal(weirogen.Seal{ExpectedItems: weirogen.NewOptInt64(items)}), weirogen.BulkActionSealParams{ID: id})); err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	if _, err := as[*weirogen.BulkAction](c.BulkActionStart(ctx, weirogen.OptStart{}, weirogen.BulkActionStartParams{ID: id})); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	return nil
}

func watch(ctx context.Context, c *weirogen.Client, id string) error {
	for {
		p, err := as[*weirogen.Progress](c.BulkActionProgress(ctx, weirogen.BulkActionProgressParams{ID: id}))
		if err != nil {
			return fmt.Errorf("progress: %w", err)
		}
		if p.State == "completed" {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// after reads the report and the failed items, looks one up, retries them, and lists.
func after(ctx context.Context, c *weirogen.Client, id, story string) error {
	r, err := as[*weirogen.Report](c.BulkActionReport(ctx, weirogen.BulkActionReportParams{ID: id}))
	if err != nil || r.Counts.Total != items || r.Counts.Failed == 0 {
		return fmt.Errorf("report: %+v, %w", r, err)
	}
	failed, err := as[*weirogen.PageItemResult](c.BulkActionItems(ctx, weirogen.BulkActionItemsParams{ID: id, State: weirogen.NewOptBulkActionItemsState("failed")}))
	if err != nil || int64(len(failed.Data)) != r.Counts.Failed {
		return fmt.Errorf("items: %+v, %w", failed, err)
	}
	found, err := as[*weirogen.Found](c.ItemLookup(ctx, &weirogen.Lookup{ID: failed.Data[0].ID}))
	if err != nil || len(found.History) == 0 {
		return fmt.Errorf("lookup: %+v, %w", found, err)
	}
	retries, err := as[*weirogen.Linked](c.BulkActionRetry(ctx, weirogen.OptAgain{}, weirogen.BulkActionRetryParams{ID: id}))
	if err != nil || len(retries.BulkActions) == 0 {
		return fmt.Errorf("retry: %+v, %w", retries, err)
	}
	list, err := as[*weirogen.PageBulkAction](c.BulkActionList(ctx, weirogen.BulkActionListParams{
		State: []weirogen.BulkActionListStateItem{"completed", "running"}, Label: weirogen.NewOptString("story=" + story)}))
	if err != nil || len(list.Data) == 0 || list.Data[len(list.Data)-1].ID != id {
		return fmt.Errorf("list: %+v, %w", list, err)
	}
	fmt.Printf("%d items, %d failed, %d retries\n", r.Counts.Total, r.Counts.Failed, len(retries.BulkActions))
	return nil
}

// refused expects problems with their types.
func refused(ctx context.Context, c *weirogen.Client) error {
	missing, err := as[*weirogen.BulkActionGetNotFound](c.BulkActionGet(ctx, weirogen.BulkActionGetParams{ID: "ba_01k9x2v6w4s8m1c7q3d5f9h0jz"}))
	if err != nil || missing.Code != "not_found" {
		return fmt.Errorf("a missing bulk action: %+v, %w", missing, err)
	}
	invalid, err := as[*weirogen.BulkActionCreateUnprocessableEntity](c.BulkActionCreate(ctx, &weirogen.NewBulkAction{
		Steps: []weirogen.Step{{Action: "no-such-action"}}}, weirogen.BulkActionCreateParams{}))
	if err != nil || len(invalid.Errors) == 0 {
		return fmt.Errorf("an invalid bulk action: %+v, %w", invalid, err)
	}
	return nil
}
