package dashboard_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// opened is a channel that lets send run at once.
func opened() chan struct{} {
	open := make(chan struct{})
	close(open)
	return open
}

func TestThePagesOfABulkActionShowItemsErrorsTimelineAndReport(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(opened())}})
	made := n.Make(oneStep, `{"id":"u1"}`+"\n"+`{"id":"u2","fail":"account 17 is closed"}`+"\n")
	n.Until(made.ID, api.Completed)
	b := newBrowser(t, n)
	for path, texts := range map[string][]string{
		"/items":              {"u1 Done", "u2 Failed", "account 17 is closed"},
		"/items?state=failed": {"u2 Failed"},
		"/items?state=ready":  {"No item matches."},
		"/errors":             {"1 item in 1 group", "account <n> is closed", "Retry 1", "Retry 1 item"},
		"/timeline":           {"Created", "First item failed at step send", "Completed; some items failed"},
		"/decisions":          {"How many calls are made at once"},
		"/rules":              {"Step send Every item", "What send receives the item as it is", "Calls at once no limit of its own"},
		"/report":             {"1 of 2 items are done, 1 failed.", "Adds up Yes 1 + 1 + 0 = 2"},
	} {
		status, page := b.get("/ui/bulk-actions/" + made.ID + path)
		if status != http.StatusOK {
			t.Errorf("%s: status %d", path, status)
		}
		b.want(page, texts...)
		b.want(page, `curl "$WEIR_SERVER"/v1/bulk-actions/`+made.ID)
	}
	if _, page := b.get("/ui/bulk-actions/" + made.ID + "/items?state=failed"); strings.Contains(text(t, page), "u1 Done") {
		t.Error("a filter for failed items shows others")
	}
	status, csv := b.get("/ui/bulk-actions/" + made.ID + "/results?state=all&format=csv")
	if lines := strings.Split(strings.TrimSpace(csv), "\n"); status != http.StatusOK || len(lines) != 3 || !strings.Contains(lines[2], "account 17 is closed") {
		t.Errorf("the file has status %d: %s", status, csv)
	}
}

func TestFailedItemsAreRetriedOnceHoweverOftenTheFormIsSent(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(opened())}})
	made := n.Make(oneStep, `{"id":"u1"}`+"\n"+`{"id":"u2","fail":"account 17 is closed"}`+"\n")
	n.Until(made.ID, api.Completed)
	b := newBrowser(t, n)
	retry := "/ui/bulk-actions/" + made.ID + "/retry"
	if status, page := b.post(retry, url.Values{"rate": {"fast"}}); status != http.StatusUnprocessableEntity || !strings.Contains(page, `value="fast"`) {
		t.Errorf("a wrong rate: status %d", status)
	}
	for range 2 {
		_, page := b.post(retry, url.Values{"once": {"abc"}, "code": {"closed"}, "reason": {"again"}})
		b.want(page, "1 item retried, as a bulk action of their own.", "weir retry "+made.ID+" --code closed --reason again", "retries items of "+made.ID)
	}
	var got api.BulkAction
	if n.Call("GET", "/v1/bulk-actions/"+made.ID, "", 200, &got); len(got.Retries) != 1 {
		t.Errorf("it has %d retries", len(got.Retries))
	}
	n.Until(got.Retries[0], api.Completed)
}

func TestAnUndoIsOfferedOnlyIfAllActionsThatRanHaveOne(t *testing.T) {
	var closed atomic.Bool // the account of u2
	undoable := weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{Name: "award",
		Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			for i := range b.Len() {
				if closed.Load() && b.Items()[i].ID == "u2" {
					b.Fail(i, "closed", errors.New("the account is closed"))
					continue
				}
				b.Done(i, json.RawMessage("{}"))
			}
			return nil
		},
		Undo: func(_ context.Context, b *weir.Batch[weir.Undone[json.RawMessage, json.RawMessage], struct{}]) error {
			for i := range b.Len() {
				b.Done(i, struct{}{})
			}
			return nil
		}})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(opened()), undoable}})
	b := newBrowser(t, n)
	plain := n.Make(oneStep, `{"id":"u1"}`+"\n")
	n.Until(plain.ID, api.Completed)
	_, page := b.get("/ui/bulk-actions/" + plain.ID)
	b.want(page, "Copy as a new draft")
	b.lacks(page, "Undo")
	status, page := b.get("/ui/bulk-actions/" + plain.ID + "/undo")
	if status != http.StatusConflict {
		t.Errorf("the question of an impossible undo has status %d", status)
	}
	b.want(page, "the action send has no undo")
	closed.Store(true)
	can := n.Make(strings.ReplaceAll(oneStep, "send", "award"), `{"id":"u1"}`+"\n"+`{"id":"u2"}`+"\n")
	n.Until(can.ID, api.Completed)
	_, page = b.get("/ui/bulk-actions/" + can.ID + "/undo")
	b.want(page, "Undo 1 item")
	closed.Store(false)
	var retries api.Linked
	n.Call("POST", "/v1/bulk-actions/"+can.ID+"/retry", `{}`, 201, &retries)
	n.Until(retries.BulkActions[0].ID, api.Completed)
	_, page = b.get("/ui/bulk-actions/" + can.ID + "/undo")
	b.want(page, "Undo 2 items") // with the one that the retry has done
	_, page = b.post("/ui/bulk-actions/"+can.ID+"/undo", nil)
	b.want(page, "The undo was started")
	var undone api.BulkAction
	n.Call("GET", "/v1/bulk-actions/"+can.ID, "", 200, &undone)
	if u := n.Until(undone.UndoneBy, api.Completed); u.Counts.Total != 2 {
		t.Errorf("it was undone for %d items", u.Counts.Total)
	}
	_, page = b.get("/ui/bulk-actions/" + undone.UndoneBy)
	b.lacks(page, "Copy as a new draft")
}

func TestRulesChangeWhileItRuns(t *testing.T) {
	open := make(chan struct{})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(open)}})
	t.Cleanup(func() { close(open) })
	made := n.Make(oneStep, `{"id":"u1"}`+"\n")
	b := newBrowser(t, n)
	rules := "/ui/bulk-actions/" + made.ID + "/rules"
	status, page := b.post(rules, url.Values{"rate-send": {"many"}, "concurrency": {"x"}, "tier": {"default"}})
	if status != http.StatusUnprocessableEntity {
		t.Errorf("wrong rules: status %d", status)
	}
	b.want(page, "Write a whole number")
	_, page = b.post(rules, url.Values{"rate-send": {"30/s"}, "concurrency": {"4"}, "tier": {"high"}, "failure": {"5"}, "min_items": {"200"}, "reason": {"slow service"}})
	b.want(page, "The rules are changed: send at 30/s, 4 calls at once, tier high, stops above 5.0 % failures.")
	var got api.BulkAction
	n.Call("GET", "/v1/bulk-actions/"+made.ID, "", 200, &got)
	if got.Rates["send"] != 30 || got.Concurrency != 4 || got.Tier != "high" || got.StopOn == nil || got.StopOn.FailureRate != 0.05 || got.StopOn.MinItems != 200 {
		t.Errorf("the rules are %+v", got.Rules)
	}
	_, page = b.post(rules, url.Values{"rate-send": {"30/s"}, "concurrency": {"4"}, "tier": {"high"}, "failure": {"5"}, "min_items": {"200"}})
	b.want(page, "Nothing was different")
}

func TestRulesShowWhatWasSetAtCreation(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(opened())}})
	made := n.Make(`{"name":"spring","steps":[{"action":"send","input":{"to":"item.mail","amount":"5"}}],"rates":{"send":"300/s"},"concurrency":4}`,
		`{"id":"u1","mail":"a@example.com"}`+"\n")
	n.Until(made.ID, api.Completed)
	b := newBrowser(t, n)
	_, page := b.get("/ui/bulk-actions/" + made.ID + "/rules")
	b.want(page, "What send receives amount = 5, to = item.mail", "Rate of send at most 300/s", "Calls at once at most 4")
	_, page = b.get("/ui/bulk-actions/" + made.ID)
	b.lacks(page, "Waiting on")
}

func TestACopyLeadsToItsDraft(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(opened())}})
	made := n.Make(oneStep, `{"id":"u1"}`+"\n")
	n.Until(made.ID, api.Completed)
	b := newBrowser(t, n)
	_, page := b.post("/ui/bulk-actions/"+made.ID+"/clone", nil)
	b.want(page, "Copied into a new draft, without items.", "New bulk action")
	var list api.Page[api.BulkAction]
	n.Call("GET", "/v1/bulk-actions?state=draft", "", 200, &list)
	if len(list.Data) != 1 || !strings.Contains(page, "/ui/new/"+list.Data[0].ID) {
		t.Errorf("the page after the copy is not that of one of the drafts %v", list.Data)
	}
}

func TestVerbsNeedTheirScope(t *testing.T) {
	open := make(chan struct{})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(open)}, Closed: true})
	t.Cleanup(func() { close(open) })
	made := n.As([]access.Scope{access.Admin}).Make(oneStep, `{"id":"u1"}`+"\n")
	b := newBrowser(t, n)
	b.post("/ui/sign-in", url.Values{"key": {n.As([]access.Scope{access.Read}, "growth").Key()}})
	_, page := b.get("/ui/bulk-actions/" + made.ID)
	b.want(page, "spring Running")
	b.lacks(page, "Pause")
	if status, page := b.post("/ui/bulk-actions/"+made.ID+"/pause", nil); status != http.StatusForbidden || !strings.Contains(text(t, page), "Nothing was changed.") {
		t.Errorf("without the scope a pause has status %d: %s", status, text(t, page))
	}
}

func TestHelpExplainsKeysAndWords(t *testing.T) {
	b := newBrowser(t, nodetest.Start(t, nodetest.Options{}))
	_, page := b.get("/ui/help")
	b.want(page, "g o Overview", "Canary A small part of the items that runs first.")
}
