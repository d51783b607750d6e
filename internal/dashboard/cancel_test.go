package dashboard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// twoSteps awards at once, leaves out every fourth item, and sends its messages when open is closed.
func twoSteps(t *testing.T, open <-chan struct{}, items int) (*nodetest.Node, api.BulkAction) {
	t.Helper()
	award := weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{Name: "award", Handle: func(_ context.Context,
		b *weir.Batch[json.RawMessage, json.RawMessage]) error {
		for i := range b.Len() {
			var it struct{ Out bool }
			if err := json.Unmarshal(b.Item(i).Value, &it); err == nil && it.Out {
				b.LeaveOut(i, "holdout")
				continue
			}
			b.Done(i, json.RawMessage("{}"))
		}
		return nil
	}})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{award, gated("message", open)}})
	var rows strings.Builder
	for i := range items {
		fmt.Fprintf(&rows, "{\"id\":\"u%d\",\"out\":%v}\n", i, i%4 == 3)
	}
	made := n.Make(`{"name":"spring","tenant":"growth","steps":[{"action":"award"},{"action":"message"}],"concurrency":1,"rates":{"message":"0.01/s"}}`, rows.String())
	return n, made
}

// progressUntil waits until the progress of a bulk action is as it should be.
func progressUntil(n *nodetest.Node, id, what string, holds func(*api.Progress) bool) (p api.Progress) {
	n.Eventually(what, func() bool {
		p = api.Progress{}
		n.Call("GET", "/v1/bulk-actions/"+id+"/progress", "", 200, &p)
		return holds(&p)
	})
	return p
}

// partOf reads the next parts of a live page, until one with an id has a text.
func partOf(t *testing.T, b *browser, of, id string, wants func(string) bool) {
	t.Helper()
	lines := b.stream(t.Context(), of)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var news struct{ Parts []struct{ ID, HTML string } }
		if err := json.Unmarshal([]byte(data), &news); err != nil {
			t.Fatal(err)
		}
		for _, p := range news.Parts {
			if p.ID == id && wants(text(t, p.HTML)) {
				return
			}
		}
	}
	t.Fatalf("the part %s of %s was not pushed: %v", id, of, lines.Err())
}

func TestACancelNamesItemsThatAreHalfDone(t *testing.T) {
	open := make(chan struct{})
	n, made := twoSteps(t, open, 40)
	b := newBrowser(t, n)
	p := progressUntil(n, made.ID, "a message is in flight and the others wait", func(p *api.Progress) bool {
		return p.Steps[0].Pending == 0 && p.Counts.InFlight > 0
	})
	if p.Cancel == nil || p.Cancel.Items != 30-p.Counts.InFlight || p.Cancel.InFlight != p.Counts.InFlight || len(p.Cancel.Begun) != 1 ||
		p.Cancel.Begun[0] != (api.BegunStep{Done: "award", Next: "message", Items: 30, Text: "30 items have done award and will not get message, except those in flight there."}) {
		t.Errorf("a cancel is foretold as %+v", p.Cancel)
	}
	_, page := b.get("/ui/bulk-actions/" + made.ID + "/cancel")
	b.want(page, "30 items have done award and will not get message, except those in flight there", fmt.Sprintf("Cancel %d items", p.Cancel.Items),
		"their calls end; those with a step or an attempt left are then cancelled", "Was left out 10 items", "In all 40 items")
	if !strings.Contains(page, `name="left" value="30"`) || !strings.Contains(page, `id="live"`) {
		t.Error("the page is not live, or does not keep how many items are left")
	}
	n.Call("POST", "/v1/bulk-actions/"+made.ID+"/pause", "{}", 200, nil)
	close(open)
	p = progressUntil(n, made.ID, "it rests", func(p *api.Progress) bool { return p.State == api.Paused && p.Counts.InFlight == 0 })
	left := 30 - p.Counts.Done
	_, page = b.get("/ui/bulk-actions/" + made.ID + "/cancel")
	b.want(page, fmt.Sprintf("%d items have done award and will not get message.", left), fmt.Sprintf("Cancel %d items", left))
	b.lacks(page, "except those")
	// The number on the page may have been smaller while calls were in flight: no more items are left than then.
	status, page := b.post("/ui/bulk-actions/"+made.ID+"/cancel", url.Values{"shown": {fmt.Sprint(left - 1)}, "left": {"30"}})
	if status != http.StatusOK {
		t.Errorf("status %d: %s", status, text(t, page))
	}
	n.Until(made.ID, api.Cancelled)
}

func TestThePageOfACancelIsKeptUpToDate(t *testing.T) {
	open := make(chan struct{})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(open)}})
	made := n.Make(oneStep, `{"id":"u1"}`+"\n"+`{"id":"u2"}`+"\n")
	b := newBrowser(t, n)
	at := "/ui/bulk-actions/" + made.ID + "/cancel"
	partOf(t, b, at, "facts", func(said string) bool { return strings.Contains(said, "Stays done 0") })
	close(open)
	partOf(t, b, at, "facts", func(said string) bool {
		return strings.Contains(strings.ReplaceAll(said, "\u00a0", " "), "spring has ended: 2 items done, 0 failed. Nothing is left to cancel. Back to spring")
	})
	partOf(t, b, at, "press", func(said string) bool { return strings.TrimSpace(said) == "Back to spring" })
	status, page := b.get(at)
	if status != http.StatusOK || strings.Contains(page, "Keep it") {
		t.Errorf("after the end the status is %d: %s", status, text(t, page))
	}
	b.want(page, "spring has ended", "Back to spring")
	if status, page = b.post(at, url.Values{"shown": {"2"}}); status != http.StatusConflict {
		t.Errorf("a cancel after the end has status %d: %s", status, text(t, page))
	}
}

func TestCancelledItemsRunFromThePage(t *testing.T) {
	open := make(chan struct{})
	n, made := twoSteps(t, open, 40)
	b := newBrowser(t, n)
	at := "/ui/bulk-actions/" + made.ID
	close(open)
	progressUntil(n, made.ID, "awards are done", func(p *api.Progress) bool { return p.Steps[0].Pending == 0 })
	_, page := b.get(at)
	b.lacks(page, "cancelled items")
	n.Call("POST", "/v1/bulk-actions/"+made.ID+"/cancel", "{}", 200, nil)
	got := n.Until(made.ID, api.Cancelled)
	never := 30 - got.Counts.Done
	_, page = b.get(at)
	rest := fmt.Sprintf("2 message %d cancelled after award %d", never, never+got.Counts.Done)
	b.want(page, fmt.Sprintf("Run %d cancelled items", never), rest)
	_, page = b.get(at + "/report")
	b.want(page, rest, "cut short: not compared with a forecast")
	b.lacks(page, "no forecast")
	_, page = b.get(at + "/run-cancelled")
	b.want(page, fmt.Sprintf("Run %d cancelled items of spring?", never), fmt.Sprintf("Half-done %d items have done award and will get message", never), "Leave them cancelled")
	if status, page := b.post(at+"/run-cancelled", url.Values{"shown": {"7"}}); status != http.StatusUnprocessableEntity {
		t.Errorf("with another number the status is %d: %s", status, text(t, page))
	}
	form := url.Values{"shown": {fmt.Sprint(never)}, "once": {"x"}, "reason": {"go on"}}
	for range 2 {
		_, page = b.post(at+"/run-cancelled", form)
		b.want(page, "The cancelled items run, as bulk actions of their own.")
	}
	n.Call("GET", "/v1/bulk-actions/"+made.ID, "", 200, &got)
	if len(got.Retries) != 1 {
		t.Fatalf("it has the retries %v", got.Retries)
	}
	var retry api.BulkAction
	if n.Call("GET", "/v1/bulk-actions/"+got.Retries[0], "", 200, &retry); retry.Counts.Total != never {
		t.Errorf("the retry has %d items, want %d", retry.Counts.Total, never)
	}
	_, page = b.get(at)
	b.lacks(page, "cancelled items") // those that are left were left out
}

func TestCancelledItemsThatARetryLeftAreOffered(t *testing.T) {
	open := make(chan struct{})
	n, made := twoSteps(t, open, 40)
	b := newBrowser(t, n)
	close(open)
	progressUntil(n, made.ID, "awards are done", func(p *api.Progress) bool { return p.Steps[0].Pending == 0 })
	n.Call("POST", "/v1/bulk-actions/"+made.ID+"/cancel", "{}", 200, nil)
	never := 30 - n.Until(made.ID, api.Cancelled).Counts.Done
	var some api.Linked
	n.Call("POST", "/v1/bulk-actions/"+made.ID+"/retry", `{"state":"cancelled","filter":"id in ['u36','u37','u38']"}`, 201, &some)
	want := fmt.Sprintf("Run %d cancelled items", never-some.Items)
	_, page := b.get("/ui/bulk-actions/" + made.ID)
	b.want(page, want)
	id := some.BulkActions[0].ID
	n.Call("POST", "/v1/bulk-actions/"+id+"/cancel", "{}", 200, nil)
	n.Until(id, api.Cancelled)
	_, page = b.get("/ui/bulk-actions/" + made.ID)
	b.want(page, want) // what the retry has cancelled is on its own page
}

// A cancel of an undo undoes no more: what is undone stays so, and nothing "stays done" that was undone.
func TestACancelOfAnUndoIsAskedForInItsWords(t *testing.T) {
	open := make(chan struct{})
	step := weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{Name: "award", BatchSize: 1,
		Resource: weir.Resource{Name: "award", Concurrency: 1},
		Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			b.Done(0, json.RawMessage("{}"))
			return nil
		},
		Undo: func(_ context.Context, b *weir.Batch[weir.Undone[json.RawMessage, json.RawMessage], struct{}]) error {
			<-open
			b.Done(0, struct{}{})
			return nil
		}})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{step}})
	t.Cleanup(func() { close(open) })
	made := n.Make(`{"steps":[{"action":"award"}],"item_id":"id"}`, "{\"id\":\"u1\"}\n{\"id\":\"u2\"}\n{\"id\":\"u3\"}\n")
	n.Until(made.ID, api.Completed)
	var linked api.Linked
	n.Call("POST", "/v1/bulk-actions/"+made.ID+"/undo", "{}", 201, &linked)
	undo := linked.BulkActions[0].ID
	n.Call("POST", "/v1/bulk-actions/"+undo+"/pause", "{}", 200, nil)
	p := progressUntil(n, undo, "it is paused", func(p *api.Progress) bool { return p.State == api.Paused && p.Cancel != nil })
	if !strings.Contains(p.Cancel.Text, "will not be undone. What is undone stays undone.") {
		t.Errorf("a cancel is foretold as %q", p.Cancel.Text)
	}
	b := newBrowser(t, n)
	_, page := b.get("/ui/bulk-actions/" + undo + "/cancel")
	b.want(page, "This cancels the undo: items that are undone stay undone", "Will not be undone", "Stays undone 0 items. Cancelling does not do them again.", "Cancel the undo of")
	b.lacks(page, "Stays done")
}
