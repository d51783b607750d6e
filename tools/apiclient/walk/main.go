//go:build generated

// Walk takes a bulk action from its creation to the retry of its failed items, by a generated client.
//
//	walk SERVER ENDPOINT ITEMS
//
// ENDPOINT is the URL of the HTTP action. The counts of the report go to stdout.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/tools/apiclient/weirapi"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	items, err := strconv.Atoi(os.Args[3])
	if err == nil {
		err = walk(ctx, os.Args[1], os.Args[2], items)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "walk:", err)
		os.Exit(1)
	}
}

func walk(ctx context.Context, server, endpoint string, items int) error {
	c, err := weirapi.NewClientWithResponses(server)
	if err != nil {
		return err
	}
	id, err := begin(ctx, c, endpoint)
	if err != nil {
		return err
	}
	if err := fill(ctx, c, id, items); err != nil {
		return err
	}
	if err := watch(ctx, c, id); err != nil {
		return err
	}
	r, err := c.BulkActionReportWithResponse(ctx, id)
	if err != nil || r.JSON200 == nil {
		return failed("report", r, err)
	}
	if err := after(ctx, c, id); err != nil {
		return err
	}
	if err := refused(ctx, c); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r.JSON200.Counts)
}

// after reads the failed items, looks one up, retries them, and lists.
func after(ctx context.Context, c *weirapi.ClientWithResponses, id string) error {
	state := weirapi.BulkActionItemsParamsState("failed")
	items, err := c.BulkActionItemsWithResponse(ctx, id, &weirapi.BulkActionItemsParams{State: &state})
	if err != nil || items.JSON200 == nil || len(items.JSON200.Data) != 1 {
		return failed("items", items, err)
	}
	found, err := c.ItemLookupWithResponse(ctx, weirapi.ItemLookupJSONRequestBody{ID: items.JSON200.Data[0].ID})
	if err != nil || found.JSON200 == nil || found.JSON200.History[0].BulkAction != id {
		return failed("lookup", found, err)
	}
	retry, err := c.BulkActionRetryWithResponse(ctx, id, nil, weirapi.BulkActionRetryJSONRequestBody{})
	if err != nil || retry.JSON201 == nil || len(retry.JSON201.BulkActions) != 1 {
		return failed("retry", retry, err)
	}
	of := id
	list, err := c.BulkActionListWithResponse(ctx, &weirapi.BulkActionListParams{RetryOf: &of})
	if err != nil || list.JSON200 == nil || len(list.JSON200.Data) != 1 {
		return failed("list", list, err)
	}
	return nil
}

// refused expects problems with their types.
func refused(ctx context.Context, c *weirapi.ClientWithResponses) error {
	missing, err := c.BulkActionGetWithResponse(ctx, "ba_01k9x2v6w4s8m1c7q3d5f9h0jz")
	if err != nil || missing.ApplicationProblemJSON404 == nil || missing.ApplicationProblemJSON404.Code != "not_found" {
		return failed("a missing bulk action", missing, err)
	}
	invalid, err := c.BulkActionCreateWithResponse(ctx, nil, weirapi.BulkActionCreateJSONRequestBody{Steps: &[]weirapi.Step{{Action: "no-such-action"}}})
	if err != nil || invalid.ApplicationProblemJSON422 == nil || invalid.ApplicationProblemJSON422.Errors == nil {
		return failed("an invalid bulk action", invalid, err)
	}
	return nil
}

// begin makes an action, and a draft that uses it.
func begin(ctx context.Context, c *weirapi.ClientWithResponses, endpoint string) (string, error) {
	a, err := c.ActionPutWithResponse(ctx, "award", nil, weirapi.ActionPutJSONRequestBody{URL: &endpoint})
	if err != nil || a.StatusCode() >= http.StatusMultipleChoices {
		return "", failed("action", a, err)
	}
	key := "walk-create"
	b, err := c.BulkActionCreateWithResponse(ctx, &weirapi.BulkActionCreateParams{IdempotencyKey: &key},
		weirapi.BulkActionCreateJSONRequestBody{Steps: &[]weirapi.Step{{Action: "award"}}})
	if err != nil || b.JSON201 == nil {
		return "", failed("create", b, err)
	}
	return b.JSON201.ID, nil
}

// fill adds items in two forms, seals and starts.
func fill(ctx context.Context, c *weirapi.ClientWithResponses, id string, items int) error {
	var lines strings.Builder
	for i := range items - 1 {
		fmt.Fprintf(&lines, "{\"id\":\"user-%d\"}\n", i)
	}
	a, err := c.BulkActionAppendWithBodyWithResponse(ctx, id, nil, "application/x-ndjson", strings.NewReader(lines.String()))
	if err != nil || a.JSON202 == nil {
		return failed("append", a, err)
	}
	a, err = c.BulkActionAppendWithBodyWithResponse(ctx, id, nil, "text/csv", strings.NewReader("id,name\nuser-last,Ada\n"))
	if err != nil || a.JSON202 == nil {
		return failed("append", a, err)
	}
	expected := int64(items)
	s, err := c.BulkActionSealWithResponse(ctx, id, nil, weirapi.BulkActionSealJSONRequestBody{ExpectedItems: &expected})
	if err != nil || s.JSON200 == nil {
		return failed("seal", s, err)
	}
	st, err := c.BulkActionStartWithResponse(ctx, id, nil, weirapi.BulkActionStartJSONRequestBody{})
	if err != nil || st.JSON200 == nil {
		return failed("start", st, err)
	}
	return nil
}

// watch waits for the end.
func watch(ctx context.Context, c *weirapi.ClientWithResponses, id string) error {
	for {
		p, err := c.BulkActionProgressWithResponse(ctx, id)
		if err != nil || p.JSON200 == nil {
			return failed("progress", p, err)
		}
		if p.JSON200.State == "completed" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("still %s: %w", p.JSON200.State, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// failed says what a call was answered with.
func failed(what string, answer any, err error) error {
	return fmt.Errorf("%s: %+v: %w", what, answer, err)
}
