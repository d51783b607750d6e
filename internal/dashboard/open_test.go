package dashboard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// All pages have the same two numbers of failed items: what the bulk action itself failed with, and what is not dealt with.
func TestAllPagesCountFailedItemsTheSame(t *testing.T) {
	var works atomic.Bool
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{repaired(&works)}})
	var items strings.Builder
	for i := range 6 {
		fmt.Fprintf(&items, "{\"id\":\"u%d\",\"fail\":\"closed\"}\n", i)
	}
	made := n.Make(oneStep, items.String())
	other := n.Make(strings.Replace(oneStep, "spring", "autumn", 1), "{\"id\":\"x\",\"fail\":\"closed\"}\n")
	n.Until(made.ID, api.Completed)
	n.Until(other.ID, api.Completed)
	again := func(id, filter string) string {
		t.Helper()
		var out api.Linked
		n.Call("POST", "/v1/bulk-actions/"+id+"/retry", `{"filter":"`+filter+`"}`, 201, &out)
		n.Until(out.BulkActions[0].ID, api.Completed)
		return out.BulkActions[0].ID
	}
	once := again(made.ID, "id in ['u0','u1','u2','u3']") // all of which fail again
	works.Store(true)
	again(once, "id == 'u0'")
	n.Call("POST", "/v1/dlq/discard", `{"filter":{"bulk_action":"`+made.ID+`","expression":"id == 'u4'"},"reason":"gone"}`, 200, nil)

	b := newBrowser(t, n)
	at := "/ui/bulk-actions/" + made.ID
	const open = "4 not dealt with" // u1, u2, u3 of the retry and u5
	_, page := b.get("/ui/bulk-actions")
	b.want(page, "6 "+open, "3 not dealt with")
	_, page = b.get(at)
	b.want(page, "Errors 4 Timeline", "Failed, "+open+" 6", "6 items failed, "+open)
	_, page = b.get(at + "/errors")
	b.want(page, "6 items in 1 group, "+open)
	_, page = b.get(at + "/report")
	b.want(page, "Failed 5 after retries, 6 before, "+open)
	_, page = b.get("/ui/")
	b.want(page, "Failed, not dealt with 5 in") // with that of the other
	var list struct{ Data []api.BulkAction }
	n.Call("GET", "/v1/bulk-actions", "", 200, &list)
	var sum int64
	for _, x := range list.Data {
		if x.RetryOf == "" {
			sum += x.Open
		}
	}
	var left api.DLQGroups
	if n.Call("GET", "/v1/dlq/groups", "", 200, &left); sum != 5 || left.Items != sum {
		t.Errorf("%d open failures in the list and %d in the DLQ, want 5", sum, left.Items)
	}
}

// A retry of cancelled items may fail more items than the bulk action itself did: no page says that more of its own failed
// items are open than it has.
func TestOpenFailuresOfRetriesAreSaidToBeOfRetries(t *testing.T) {
	t.Parallel()
	var fails atomic.Bool
	step := weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{Name: "send", BatchSize: 1,
		Retry: weir.Backoff{MaxAttempts: 5, Base: time.Hour, Cap: time.Hour}, Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			if fails.Load() || b.Item(0).ID == "u0" {
				b.Fail(0, "closed", errors.New("the account is closed"))
				return nil
			}
			return errors.New("connection reset after the request was sent")
		}})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{step}})
	made := n.Make(oneStep, "{\"id\":\"u0\"}\n{\"id\":\"u1\"}\n{\"id\":\"u2\"}\n{\"id\":\"u3\"}\n")
	progressUntil(n, made.ID, "three wait", func(p *api.Progress) bool { return p.Counts.Waiting == 3 && p.Counts.Failed == 1 })
	n.Call("POST", "/v1/bulk-actions/"+made.ID+"/cancel", "{}", 200, nil)
	n.Until(made.ID, api.Cancelled)
	fails.Store(true)
	var again api.Linked
	n.Call("POST", "/v1/bulk-actions/"+made.ID+"/retry", `{"state":"cancelled"}`, 201, &again)
	n.Until(again.BulkActions[0].ID, api.Completed)
	b := newBrowser(t, n)
	const open = "with its retries 4 not dealt with"
	for path, want := range map[string]string{
		"":        "Failed, " + open + " 1",
		"/errors": "1 item in 1 group, " + open,
		"/report": "Failed 4 after retries, 1 before, " + open,
	} {
		_, page := b.get("/ui/bulk-actions/" + made.ID + path)
		b.want(page, want)
	}
	_, page := b.get("/ui/bulk-actions")
	b.want(page, "1 "+open)
}
