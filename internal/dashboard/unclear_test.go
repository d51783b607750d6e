package dashboard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// An item that was called without a clear answer, and is then cancelled, may be done: everything that shows it says so.
func TestCancelledItemsWithoutAClearAnswerAreSaidToBeMaybeDone(t *testing.T) {
	t.Parallel()
	hangs := weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{Name: "award", BatchSize: 1,
		Retry: weir.Backoff{MaxAttempts: 5, Base: time.Hour, Cap: time.Hour}, Handle: func(_ context.Context,
			b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			if b.Item(0).ID == "u0" {
				return errors.New("connection reset after the request was sent")
			}
			b.Done(0, json.RawMessage("{}"))
			return nil
		}})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{hangs}})
	made := n.Make(`{"name":"spring","tenant":"growth","steps":[{"action":"award"}]}`, "{\"id\":\"u1\"}\n{\"id\":\"u0\"}\n")
	p := progressUntil(n, made.ID, "u0 waits and u1 is done", func(p *api.Progress) bool { return p.Counts.Waiting == 1 && p.Counts.Done == 1 })
	if p.Cancel == nil || p.Cancel.Unclear != 1 || p.Steps[0].Unclear != 1 {
		t.Errorf("preview of a cancel = %+v, steps = %+v, want 1 unclear item", p.Cancel, p.Steps)
	}
	b := newBrowser(t, n)
	for _, state := range []string{"running", "paused"} {
		if state == "paused" {
			n.Call("POST", "/v1/bulk-actions/"+made.ID+"/pause", "{}", 200, nil)
		}
		_, page := b.get("/ui/bulk-actions/" + made.ID + "/results?state=all&format=csv")
		b.want(page, "u0,waiting,award,no_clear_answer,it was called without a clear answer: the service may have done it,retry,1,")
		var list struct{ Data []api.ItemResult }
		n.Call("GET", "/v1/bulk-actions/"+made.ID+"/items?code=no_clear_answer", "", 200, &list)
		if len(list.Data) != 1 || list.Data[0].ID != "u0" || list.Data[0].State != "waiting" {
			t.Errorf("%s: items with the code = %+v, want u0, waiting", state, list.Data)
		}
	}
	_, page := b.get("/ui/bulk-actions/" + made.ID + "/cancel")
	b.want(page, "No clear answer 1 item was called and gave no clear answer so far: the service may have done the work")
	n.Call("POST", "/v1/bulk-actions/"+made.ID+"/cancel", "{}", 200, nil)
	progressUntil(n, made.ID, "cancelled", func(p *api.Progress) bool { return p.State == api.Cancelled })

	var r api.Report
	n.Call("GET", "/v1/bulk-actions/"+made.ID+"/report", "", 200, &r)
	if r.Unclear != 1 || r.Steps[0].Unclear != 1 || r.Counts.Cancelled != 1 {
		t.Errorf("report: %d unclear, steps %+v, counts %+v", r.Unclear, r.Steps, r.Counts)
	}
	var found api.Found
	n.Call("POST", "/v1/items/lookup", `{"id":"u0"}`, 200, &found)
	if len(found.History) != 1 || found.History[0].Attempts != 1 || found.History[0].Code != "no_clear_answer" || found.History[0].History[0].Code != "no_clear_answer" {
		t.Errorf("item = %+v, want cancelled after 1 attempt with the code no_clear_answer", found.History)
	}
	var list struct{ Data []api.ItemResult }
	n.Call("GET", "/v1/bulk-actions/"+made.ID+"/items?code=no_clear_answer", "", 200, &list)
	if len(list.Data) != 1 || list.Data[0].ID != "u0" {
		t.Errorf("items with the code = %+v, want u0", list.Data)
	}
	for path, want := range map[string]string{
		"/bulk-actions/" + made.ID + "/report":                       "1 cancelled item has no clear answer: the service may have done the work.",
		"/bulk-actions/" + made.ID + "/items":                        "no_clear_answer it was called without a clear answer: the service may have done it",
		"/bulk-actions/" + made.ID + "/results?state=all&format=csv": "u0,cancelled,award,no_clear_answer,it was called without a clear answer: the service may have done it,user,1,",
		"/items/" + found.History[0].Item:                            "cancelled after 1 attempt: no_clear_answer it was called without a clear answer",
	} {
		_, page := b.get("/ui" + path)
		b.want(page, want)
	}
	_, page = b.post("/ui/items", url.Values{"id": {"u0"}})
	b.want(page, "growth · cancelled by a person")
	b.want(page, "cancelled after 1 attempt: no_clear_answer it was called without a clear answer")
}

// A retry that has ended an item makes it clear: the report does not call it unclear any more. The page that asks before
// the retry says what is unclear, and that the keys stay the same.
func TestARetryMakesUnclearItemsClear(t *testing.T) {
	t.Parallel()
	var heals atomic.Bool
	hangs := weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{Name: "award", BatchSize: 1,
		Retry: weir.Backoff{MaxAttempts: 5, Base: time.Hour, Cap: time.Hour}, Handle: func(_ context.Context,
			b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			if !heals.Load() {
				return errors.New("connection reset after the request was sent")
			}
			b.Done(0, json.RawMessage("{}"))
			return nil
		}})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{hangs}})
	made := n.Make(`{"name":"spring","tenant":"growth","steps":[{"action":"award"}]}`, "{\"id\":\"u0\"}\n{\"id\":\"u1\"}\n{\"id\":\"u2\"}\n")
	progressUntil(n, made.ID, "all wait", func(p *api.Progress) bool { return p.Steps[0].Unclear == 3 })
	n.Call("POST", "/v1/bulk-actions/"+made.ID+"/cancel", "{}", 200, nil)
	n.Until(made.ID, api.Cancelled)
	b := newBrowser(t, n)
	at := "/ui/bulk-actions/" + made.ID
	const keys = "A retry sends the same idempotency keys, unless it asks for new ones: a service that knows them does not do the work twice."
	_, page := b.get(at + "/run-cancelled")
	b.want(page, "No clear answer 3 cancelled items have no clear answer: the service may have done the work. "+keys)

	heals.Store(true)
	for _, tt := range []struct {
		which string
		left  int64
	}{{`,"filter":"id == 'u1'"`, 2}, {"", 0}} {
		var again api.Linked
		n.Call("POST", "/v1/bulk-actions/"+made.ID+"/retry", `{"state":"cancelled"`+tt.which+`}`, 201, &again)
		n.Until(again.BulkActions[0].ID, api.Completed)
		var r api.Report
		if n.Call("GET", "/v1/bulk-actions/"+made.ID+"/report", "", 200, &r); r.Unclear != tt.left || (r.UnclearText == "") != (tt.left == 0) {
			t.Errorf("%d unclear items (%s) after the retry%s, want %d", r.Unclear, r.UnclearText, tt.which, tt.left)
		}
	}
	_, page = b.get(at + "/report")
	b.want(page, "Cancelled or left out 0")
	b.lacks(page, "no clear answer")
}

// An item that failed without a clear answer may be done: everything that shows it says so, also before and after an undo,
// which does not call it. A retry that ends it makes it clear.
func TestFailedItemsWithoutAClearAnswerAreSaidToBeMaybeDone(t *testing.T) {
	t.Parallel()
	var heals atomic.Bool
	hangs := weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{Name: "award", BatchSize: 1,
		Retry: weir.Backoff{MaxAttempts: 1}, Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			switch id := b.Item(0).ID; {
			case id == "u3":
				b.Fail(0, "closed", errors.New("the account is closed"))
			case id != "u0" && !heals.Load():
				return fmt.Errorf("award: %w", context.DeadlineExceeded)
			default:
				b.Done(0, json.RawMessage("{}"))
			}
			return nil
		},
		Undo: func(_ context.Context, b *weir.Batch[weir.Undone[json.RawMessage, json.RawMessage], struct{}]) error {
			b.DoneRest()
			return nil
		}})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{hangs}})
	made := n.Make(`{"name":"spring","tenant":"growth","steps":[{"action":"award"}]}`, "{\"id\":\"u0\"}\n{\"id\":\"u1\"}\n{\"id\":\"u2\"}\n{\"id\":\"u3\"}\n")
	n.Until(made.ID, api.Completed)
	b := newBrowser(t, n)
	at := "/ui/bulk-actions/" + made.ID
	const keys = "A retry sends the same idempotency keys, unless it asks for new ones: a service that knows them does not do the work twice."
	wants := func(unclear int64, text string) (r api.Report) {
		t.Helper()
		if n.Call("GET", "/v1/bulk-actions/"+made.ID+"/report", "", 200, &r); r.UnclearFailed != unclear || r.UnclearText != text || r.Unclear != 0 {
			t.Errorf("report: %d failed items unclear, %d others, %q; want %d, 0, %q", r.UnclearFailed, r.Unclear, r.UnclearText, unclear, text)
		}
		return r
	}
	const maybe = " no clear answer: the service may have done the work. "
	r := wants(2, "2 failed items have"+maybe+keys)
	for _, g := range r.Errors {
		if g.Unclear != (g.Code == "timeout") {
			t.Errorf("error group %s is unclear: %t", g.Code, g.Unclear)
		}
	}
	var list struct{ Data []api.ItemResult }
	n.Call("GET", "/v1/bulk-actions/"+made.ID+"/items?code=no_clear_answer", "", 200, &list)
	if len(list.Data) != 2 || list.Data[0].ID != "u1" || list.Data[0].Code != "timeout" || !list.Data[0].Unclear {
		t.Errorf("items without a clear answer = %+v, want u1 and u2 with their code", list.Data)
	}
	for path, want := range map[string]string{
		at + "/report":                       "2 failed items have" + maybe,
		at + "/errors":                       "timeout The service may have done it; a retry sends the same keys",
		"/ui/failed":                         "timeout The service may have done it; a retry sends the same keys",
		at + "/results?state=all&format=csv": "u1,failed,award,timeout,award: context deadline exceeded,,1,,yes",
		at + "/undo":                         "No clear answer 2 items have no clear answer: the service may have done them. Undo does not call them. Retry them first (same keys), then undo.",
	} {
		_, page := b.get(path)
		b.want(page, want)
	}
	heals.Store(true)
	var again api.Linked
	n.Call("POST", "/v1/bulk-actions/"+made.ID+"/retry", `{"filter":"id == 'u1'"}`, 201, &again)
	n.Until(again.BulkActions[0].ID, api.Completed)
	wants(1, "1 failed item has"+maybe+keys)
	b.post(at+"/undo", nil)
	var undone api.BulkAction
	n.Call("GET", "/v1/bulk-actions/"+made.ID, "", 200, &undone)
	n.Until(undone.UndoneBy, api.Completed)
	r = wants(1, "1 failed item has"+maybe+"It was not undone, and a retry is refused after an undo: check it at the service. The downloads mark it as unclear.")
	if r.UndoText != "" {
		t.Errorf("after the undo the report says %q about one", r.UndoText)
	}
	_, page := b.get(at + "/results?state=all&format=csv")
	b.want(page, "retried_by,unclear,undone_by", "u0,done,award,,,,1,,,"+undone.UndoneBy, "u2,failed,award,timeout,award: context deadline exceeded,,1,,yes,", "u3,failed,award,closed,the account is closed,,1,,,")
	_, page = b.get(at + "/items")
	b.want(page, "Undone by "+undone.UndoneBy+" : 2 of 2 items. The items are listed as they were before it.", "Done Undone by a later undo")
	_, page = b.get(at + "/errors")
	b.lacks(page, "a retry sends", "Retry 1")
	b.want(page, "After an undo items cannot be retried.")
	_, page = b.post("/ui/items", url.Values{"id": {"u0"}})
	b.want(page, "undone by "+undone.UndoneBy)
}
