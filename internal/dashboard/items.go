package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// itemsPage answers: what happened to this one?
type itemsPage struct {
	ID, Tenant string
	Fault      string
	Asked      bool
	Bare       string // the id without the spaces around it, where an item was found that has them
	Found      []itemView
	FoundIn    string // how many bulk actions
	// Named are bulk actions whose name has the text in it.
	Named []api.BulkAction
}

// itemView is an item in one bulk action.
type itemView struct {
	api.ItemResult
	Sign  sign
	Steps []stepView
	// Data and Output are indented, Line is Data in one line.
	Data, Output, Line string
	Retried            retried
}

// stepView is what happened to an item at one step.
type stepView struct {
	api.ItemEvent
	Sign   sign
	Says   string
	Output string
}

// itemPages registers the pages about single items. The id that a customer gave an item is personal data: it comes in
// the body of a form, and never in an address.
func (d *Dashboard) itemPages() {
	d.page("/items", "items", func(context.Context, *visit) (content, error) { return itemsContent(itemsPage{}), nil })
	d.search("/items", d.lookUp)
	d.page("/items/{item}", "item", d.item)
	d.form("/items/{item}/retry", d.retryItem)
}

func itemsContent(page itemsPage) content {
	c := content{Title: "Items", Nav: "Items", Page: page}
	if page.Asked {
		c.Title, c.Weir = "What happened to "+page.ID, []string{"weir item " + quoted(page.ID)}
	}
	return c
}

// mostFound is how many bulk actions of an item are shown, mostNamed among how many bulk actions a name is looked for.
const (
	mostFound = 100
	mostNamed = 1000
)

// lookUp shows what happened to an item, or leads to the bulk action that a person means.
func (d *Dashboard) lookUp(ctx context.Context, v *visit) (done, error) {
	exact := v.FormValue("id")
	page := itemsPage{ID: strings.TrimSpace(exact), Tenant: strings.TrimSpace(v.FormValue("tenant"))}
	again := func() error { return &pageAgain{"items", itemsContent(page)} }
	if page.ID == "" {
		page.Fault = "Enter the id of an item."
		return done{}, again()
	}
	if to, err := v.direct(ctx, page.ID); to != "" || err != nil {
		return done{To: to}, err
	}
	found, err := v.api.Lookup(ctx, api.Lookup{ID: exact, Tenant: page.Tenant, Limit: mostFound})
	if err == nil && len(found.History) == 0 && exact != page.ID { // the spaces came with a copy, and are not of the id
		found, err = v.api.Lookup(ctx, api.Lookup{ID: page.ID, Tenant: page.Tenant, Limit: mostFound})
	} else if err == nil && exact != page.ID {
		page.ID, page.Bare = exact, page.ID
	}
	if p := refusal(err); p != nil && p.Status == 422 {
		page.Fault = p.Error()
		return done{}, again()
	}
	if err != nil {
		return done{}, err
	}
	page.Asked = true
	for i := range found.History {
		x := viewOf(&found.History[i])
		if x.Retried, err = v.retriedOf(ctx, &x.ItemResult); err != nil {
			return done{}, err
		}
		page.Found = append(page.Found, x)
	}
	page.FoundIn = format.Plural(int64(len(page.Found)), "bulk action", "bulk actions")
	if len(page.Found) == mostFound {
		page.FoundIn = "the newest " + page.FoundIn
	}
	if len(page.Found) == 0 {
		to, err := v.named(ctx, &page)
		if to != "" || err != nil {
			return done{To: to}, err
		}
	}
	return done{Show: &pageAgain{"items", itemsContent(page)}}, nil
}

// direct returns the page of an id that weir has given, empty if it is not one.
func (v *visit) direct(ctx context.Context, id string) (string, error) {
	var err error
	to := ""
	switch {
	case strings.HasPrefix(id, "ba_"):
		_, err = v.api.Get(ctx, id)
		to = "/bulk-actions/" + escape(id)
	case strings.HasPrefix(id, "itm_"):
		_, err = v.api.Item(ctx, id)
		to = "/items/" + escape(id)
	}
	if client.IsCode(err, "not_found") || refusal(err) != nil && refusal(err).Status == 422 {
		return "", nil // then it is an id of the customer's, if anything
	}
	return to, err
}

// named looks for bulk actions by name. What was typed may be personal data, so it is compared here instead of being
// asked for in the address of a request.
func (v *visit) named(ctx context.Context, page *itemsPage) (to string, err error) {
	list, err := pageOf[api.BulkAction](ctx, v, "/v1/bulk-actions", url.Values{"limit": {fmt.Sprint(mostNamed)}})
	if err != nil {
		return "", err
	}
	var same []api.BulkAction
	for _, b := range list.Data {
		if b.Name == page.ID {
			same = append(same, b)
		}
		if strings.Contains(strings.ToLower(b.Name), strings.ToLower(page.ID)) && len(page.Named) < 10 {
			page.Named = append(page.Named, b)
		}
	}
	if len(same) == 1 {
		return "/bulk-actions/" + escape(same[0].ID), nil
	}
	return "", nil
}

// item shows one item of one bulk action.
func (d *Dashboard) item(ctx context.Context, v *visit) (content, error) {
	x, err := v.api.Item(ctx, v.PathValue("item"))
	if err != nil {
		return content{}, err
	}
	page := viewOf(&x)
	if page.Retried, err = v.retriedOf(ctx, &x); err != nil {
		return content{}, err
	}
	return content{Title: x.ID, Nav: "Items", Page: page, Weir: []string{"weir item " + x.Item}}, nil
}

// retryItem tries an item again that has failed.
func (d *Dashboard) retryItem(ctx context.Context, v *visit) (done, error) {
	x, err := v.api.Item(ctx, v.PathValue("item"))
	if err != nil {
		return done{}, err
	}
	id, err := json.Marshal(x.ID)
	if err != nil {
		return done{}, err
	}
	made, err := v.api.Retry(v.once(ctx), x.BulkAction, api.Again{State: x.State, Filter: "id == " + string(id),
		Reason: strings.TrimSpace(v.FormValue("reason"))})
	if err != nil {
		return done{}, err
	}
	if len(made.BulkActions) == 0 {
		return done{}, errors.New("nothing was retried: the bulk action of the item still runs")
	}
	return done{To: "/bulk-actions/" + escape(made.BulkActions[0].ID), Note: note{
		Text: format.Items(made.Items) + " retried, in this bulk action.",
		Then: "It keeps its idempotency key. If it fails again, it is under Failed items."}}, nil
}

// itemSigns is how the states of items are shown.
var itemSigns = map[string]sign{
	"ready": {"waiting", "Ready", "waiting"}, "waiting": {"retry", "Waiting to retry", "waiting"}, "in_flight": {"running", "In flight", "running"},
	"done": {"done", "Done", "done"}, "failed": {"failed", "Failed", "failed"}, "cancelled": {"cancelled", "Cancelled", "cancelled"},
	"skipped": {"done", "Passed", "done"}, "left_out": {"cancelled", "Left out", "cancelled"}, "pending": {"waiting", "Not yet", "waiting"},
}

func itemSign(state string) sign {
	if s, ok := itemSigns[state]; ok {
		return s
	}
	return sign{"info", state, "cancelled"}
}

// triedSign is how the result of a trial is shown: nothing waits after it.
func triedSign(state string) sign {
	if state == "waiting" {
		return sign{"retry", "Would be tried again", "waiting"}
	}
	return itemSign(state)
}

// viewOf prepares an item for a page.
func viewOf(x *api.ItemResult) itemView {
	view := itemView{ItemResult: *x, Sign: itemSign(x.State), Data: pretty(x.Data), Output: pretty(x.Output), Line: oneLine(x.Data)}
	for _, e := range x.History {
		if e.Result == "left_out" {
			view.Sign = itemSign("left_out")
		}
		view.Steps = append(view.Steps, stepView{ItemEvent: e, Sign: itemSign(e.Result), Says: saysOf(&e, x), Output: oneLine(e.Output)})
	}
	return view
}

// Why says in words why an item is in its state.
func (x itemView) Why() string {
	switch x.Reason {
	case "user":
		return "cancelled by a person"
	case "rule":
		return "cancelled by the rule of its bulk action"
	case "deadline":
		return "cancelled at the deadline of its bulk action"
	case "retry":
		return "waits for another attempt"
	case "skipped":
		return "its last step was passed without a call"
	case "condition":
		return "the condition of its step was not met"
	}
	return x.Reason // an action's own
}

// saysOf says what happened at a step, after its name.
func saysOf(e *api.ItemEvent, x *api.ItemResult) string {
	attempts := ""
	if e.Attempts > 0 {
		attempts = " after " + format.Plural(int64(e.Attempts), "attempt", "attempts")
	}
	switch e.Result {
	case "done":
		return "done" + attempts + "."
	case "skipped":
		return "passed without a call: its condition was not met."
	case "left_out":
		if e.Code == "condition" || x.Reason == "condition" {
			return "left out: the condition of the step was not met."
		}
		return "left out by the action" + attempts + ":"
	case "failed":
		return "failed" + attempts + ":"
	case "cancelled":
		if e.Code != "" {
			return "cancelled" + attempts + ":"
		}
		return "cancelled before it was done" + attempts + "."
	}
	if e.Attempts > 0 {
		return "not done yet, " + format.Plural(int64(e.Attempts), "attempt", "attempts") + " so far:"
	}
	return "not done yet."
}

// mostLine is the longest value within a sentence, in bytes.
const mostLine = 200

// oneLine writes JSON in one line, cut.
func oneLine(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		out.Reset()
		out.Write(raw)
	}
	if text := out.String(); len(text) <= mostLine {
		return text
	}
	return strings.ToValidUTF8(out.String()[:mostLine], "") + "…"
}
