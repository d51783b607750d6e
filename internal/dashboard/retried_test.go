package dashboard_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// repaired is an action that fails items with a member fail until the service is repaired.
func repaired(works *atomic.Bool) weir.Step {
	return weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{Name: "send", Handle: func(_ context.Context,
		b *weir.Batch[json.RawMessage, json.RawMessage]) error {
		for i := range b.Len() {
			var it struct{ Fail string }
			if err := json.Unmarshal(b.Item(i).Value, &it); err == nil && it.Fail != "" && !works.Load() {
				b.Fail(i, "closed", errors.New(it.Fail))
				continue
			}
			b.Done(i, json.RawMessage("{}"))
		}
		return nil
	}})
}

func TestAllPagesAgreeAboutARetry(t *testing.T) {
	var works atomic.Bool
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{repaired(&works)}})
	made := n.Make(oneStep, `{"id":"u1"}`+"\n"+`{"id":"u2","fail":"no such user"}`+"\n"+`{"id":"u3","fail":"account 17 is closed"}`+"\n"+
		`{"id":"u4","fail":"account 18 is closed"}`+"\n")
	n.Until(made.ID, api.Completed)
	works.Store(true)
	b := newBrowser(t, n)
	at := "/ui/bulk-actions/" + made.ID
	b.post(at+"/retry", url.Values{"once": {"a"}, "message": {"account <n> is closed"}})
	var got api.BulkAction
	n.Call("GET", "/v1/bulk-actions/"+made.ID, "", 200, &got)
	if len(got.Retries) != 1 {
		t.Fatalf("it has the retries %v", got.Retries)
	}
	n.Until(got.Retries[0], api.Completed)

	_, page := b.get(at + "/errors")
	b.want(page, "2 of 3 failed items were retried: 2 done. See the retry", "Retry all that are left", "Retry 1 item")
	b.lacks(page, "Retry 2", "Retry 3")
	_, page = b.get(at + "/report")
	b.want(page, "3 of 4 items are done, 1 failed, with its retries.", "of these 2 by retries", "Failed 1 after retries, 3 before, 1 not dealt with", "3 + 1 + 0 = 4")
	_, page = b.get(at + "/items")
	b.want(page, "u2 Failed no such user", "u3 Failed Then retried : Done", "u4 Failed Then retried : Done")
	_, page = b.get("/ui/bulk-actions")
	b.want(page, "spring (retry 1) retries items of an earlier one")
	_, page = b.post("/ui/items", url.Values{"id": {"u3"}})
	b.want(page, "then retried : Done", "retry of "+made.ID)
	b.lacks(page, "Retry this item")
	item := strings.Replace(made.ID, "ba_", "itm_", 1)
	_, page = b.get("/ui/items/" + item + "-2")
	b.want(page, "u3 Failed in spring", "then retried : Done")
	b.lacks(page, "Retry this item")
	_, page = b.get("/ui/items/" + item + "-1")
	b.want(page, "Retry this item")

	b.post(at+"/retry", url.Values{"once": {"b"}})
	_, page = b.get(at + "/errors")
	b.lacks(page, "Retry 1", "Retry all", "discarded")
	b.want(page, "All 3 failed items were retried: ", "retried")
	_, page = b.get(at)
	b.lacks(page, "Retry 1")
	n.Call("GET", "/v1/bulk-actions/"+made.ID, "", 200, &got)
	for _, id := range got.Retries {
		n.Until(id, api.Completed)
	}
	_, page = b.get(at)
	b.want(page, "Failed, all dealt with 3", "All 3 failed items were retried: 3 done.", "Errors Timeline") // without a number beside the errors
	n.Call("GET", "/v1/bulk-actions/"+made.ID, "", 200, &got)
	if want := (api.Retried{Failed: 3, Done: 3, Text: "All 3 failed items were retried: 3 done"}); got.Retried == nil || *got.Retried != want {
		t.Errorf("retried = %+v, want %+v", got.Retried, want)
	}
}

func TestAnItemIsRetriedOnlyWhenItsBulkActionHasEnded(t *testing.T) {
	open := make(chan struct{})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(opened()), gated("wait", open)}})
	made := n.Make(`{"name":"spring","tenant":"growth","steps":[{"action":"send"},{"action":"wait"}]}`,
		`{"id":"u1"}`+"\n"+`{"id":"u2","fail":"no such user"}`+"\n")
	n.Eventually("u2 has failed", func() bool {
		var p api.Progress
		n.Call("GET", "/v1/bulk-actions/"+made.ID+"/progress", "", 200, &p)
		return p.Counts.Failed == 1
	})
	b := newBrowser(t, n)
	_, page := b.post("/ui/items", url.Values{"id": {"u2"}})
	b.want(page, "spring Failed")
	b.lacks(page, "Retry this item")
	close(open)
	n.Until(made.ID, api.Completed)
	_, page = b.post("/ui/items", url.Values{"id": {"u2"}})
	b.want(page, "Retry this item")
}
