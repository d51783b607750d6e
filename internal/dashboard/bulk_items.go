package dashboard

import (
	"context"
	"fmt"
	"html/template"
	"net/url"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// itemsOnPage is how many items a page lists.
const itemsOnPage = 50

// bulkItemsPage lists the items of a bulk action.
type bulkItemsPage struct {
	bulkHead
	State, Step, Code string
	States            []choice
	Items             []api.ItemResult
	After             map[string]api.ItemResult // how they ended in retries
	Older             template.URL              // query of the next page
	First             bool                      // it is the first page
}

// choice is one value of a filter.
type choice struct {
	Name, Value string
	Current     bool
}

// choices marks the current value among those of a filter: names and values in turn.
func choices(current string, of ...string) (list []choice) {
	for i := 0; i+1 < len(of); i += 2 {
		list = append(list, choice{of[i], of[i+1], of[i+1] == current})
	}
	return list
}

func (d *Dashboard) bulkItems(ctx context.Context, v *visit) (content, error) {
	h, c, err := v.bulkHead(ctx, "Items")
	if err != nil {
		return c, err
	}
	q := v.URL.Query()
	page := bulkItemsPage{bulkHead: h, State: q.Get("state"), Step: q.Get("step"), Code: q.Get("code"), First: q.Get("cursor") == ""}
	page.States = choices(page.State, "All", "", "Done", "done", "Failed", "failed", "Ready", "ready", "Waiting", "waiting", "Cancelled", "cancelled")
	filter := url.Values{"state": {page.State}, "step": {page.Step}, "code": {page.Code}, "cursor": {q.Get("cursor")}, "limit": {fmt.Sprint(itemsOnPage)}}
	// A page of the API covers a bounded part of the items: a rare state may need several.
	for range 20 {
		list, err := pageOf[api.ItemResult](ctx, v, "/v1/bulk-actions/"+escape(h.Bulk.ID)+"/items", filter)
		if err != nil {
			return c, err
		}
		page.Items = append(page.Items, list.Data...)
		if page.Older = ""; list.HasMore {
			filter.Set("cursor", list.NextCursor)
			filter.Set("limit", fmt.Sprint(itemsOnPage-len(page.Items)))
			page.Older = older(filter)
		}
		if !list.HasMore || len(page.Items) >= itemsOnPage {
			break
		}
	}
	if page.After, err = v.outcomes(ctx, &h.Bulk, page.Items); err != nil {
		return c, err
	}
	command := "weir items " + h.Bulk.ID
	for _, o := range []fact{{"--state", page.State}, {"--step", page.Step}, {"--code", page.Code}} {
		if o.Value != "" {
			command += " " + o.Name + " " + quoted(o.Value)
		}
	}
	c.Page, c.Weir = page, []string{command}
	return c, nil
}

// older returns the query of the next page of a list.
func older(filter url.Values) template.URL {
	q := url.Values{}
	for name, values := range filter {
		if name != "limit" && name != "progress" && len(values) > 0 && values[0] != "" {
			q.Set(name, values[0])
		}
	}
	return template.URL(q.Encode()) //nolint:gosec // encoded
}

// bulkErrorsPage lists why items failed, with what can be done.
type bulkErrorsPage struct {
	bulkHead
	Errors []errorLine
	Left   int64  // failed items that were not retried or discarded
	Rate   string // that a retry may use
	Fault  string
}

func (d *Dashboard) bulkErrors(ctx context.Context, v *visit) (content, error) {
	h, c, err := v.bulkHead(ctx, "Errors")
	if err != nil {
		return c, err
	}
	page := bulkErrorsPage{bulkHead: h}
	if page.Errors, page.Left, err = v.errorLines(ctx, &page.bulkHead); err != nil {
		return c, err
	}
	c.Page, c.Weir = page, []string{"weir errors " + h.Bulk.ID, "weir retry " + h.Bulk.ID}
	return c, nil
}

// retryItems retries failed items: one group of errors, or all of them.
func (d *Dashboard) retryItems(ctx context.Context, v *visit) (done, error) {
	id := v.PathValue("id")
	again := api.Again{Step: v.FormValue("step"), Code: v.FormValue("code"), Message: v.FormValue("message"),
		NewKeys: v.FormValue("new_keys") != "", Reason: strings.TrimSpace(v.FormValue("reason"))}
	if rate := strings.TrimSpace(v.FormValue("rate")); rate != "" {
		if err := again.Rate.UnmarshalText([]byte(rate)); err != nil {
			c, shown := d.bulkErrors(ctx, v)
			if shown != nil {
				return done{}, shown
			}
			page := c.Page.(bulkErrorsPage)
			page.Rate, page.Fault = rate, err.Error()
			c.Page = page
			return done{}, &pageAgain{"bulk-errors", c}
		}
	}
	linked, err := v.api.Retry(v.once(ctx), id, again)
	if err != nil {
		return done{}, err
	}
	command := "weir retry " + id
	for _, o := range []fact{{"--step", again.Step}, {"--code", again.Code}, {"--reason", again.Reason}} {
		if o.Value != "" {
			command += " " + o.Name + " " + quoted(o.Value)
		}
	}
	n := note{Text: fmt.Sprintf("%s retried, as a bulk action of their own.", format.Items(linked.Items)),
		Then: "The report of the first one counts both.", Weir: []string{command}}
	to := "/bulk-actions/" + escape(id)
	if len(linked.BulkActions) == 1 {
		to = "/bulk-actions/" + escape(linked.BulkActions[0].ID)
	}
	if linked.Skipped > 0 {
		n.Then = format.Items(linked.Skipped) + " were left out: their bulk action still runs. Retry them when it has ended."
	}
	return done{To: to, Note: n}, nil
}

// bulkDecisionsPage lists decisions about the workers of a bulk action's lanes.
type bulkDecisionsPage struct {
	bulkHead
	Decisions []api.Decision
}

func (d *Dashboard) bulkDecisions(ctx context.Context, v *visit) (content, error) {
	h, c, err := v.bulkHead(ctx, "Decisions")
	if err != nil {
		return c, err
	}
	page := bulkDecisionsPage{bulkHead: h}
	if page.Decisions, err = v.api.BulkDecisions(ctx, h.Bulk.ID, 100); err != nil {
		return c, err
	}
	c.Page, c.Weir = page, []string{"weir lanes"}
	return c, nil
}

// happening is an event with its sign.
type happening struct {
	api.Event
	Icon, Class string
	Says        string // what happened, and who did it
}

// signsOfEvents has a sign for each kind of event.
var signsOfEvents = map[string]sign{
	"start": {Icon: "running", Class: "running"}, "resume": {Icon: "running", Class: "running"}, "approve": {Icon: "approve", Class: "done"},
	"pause": {Icon: "paused", Class: "paused"}, "cancel": {Icon: "cancelled", Class: "cancelled"}, "cancelled": {Icon: "cancelled", Class: "cancelled"},
	"completed": {Icon: "done", Class: "done"}, "failed": {Icon: "warn", Class: "failed"}, "stopped": {Icon: "stopped", Class: "failed"},
	"rule_cancelled": {Icon: "cancelled", Class: "failed"}, "expired": {Icon: "cancelled", Class: "cancelled"}, "late": {Icon: "warn", Class: "waiting"},
	"schedule": {Icon: "scheduled", Class: "faint"}, "began": {Icon: "running", Class: "running"}, "canary_ready": {Icon: "approve", Class: "waiting"}, "canary_passed": {Icon: "done", Class: "done"},
	"circuit_opened": {Icon: "warn", Class: "failed"}, "circuit_closed": {Icon: "done", Class: "done"}, "delivery_failed": {Icon: "warn", Class: "failed"},
	"retry": {Icon: "retry", Class: "faint"}, "undo": {Icon: "undo", Class: "faint"}, "change": {Icon: "info", Class: "faint"},
}

// events returns the newest events of a bulk action.
func (v *visit) events(ctx context.Context, id string, most int) (list []happening, err error) {
	events, err := v.api.Timeline(ctx, id, most)
	for _, e := range events {
		h := happening{Event: e, Icon: "info", Class: "faint", Says: format.Stop(e.Text)}
		if e.Actor != "" {
			h.Says = format.Stop(format.Clause(e.Text) + ", by " + e.Actor)
		}
		if s, ok := signsOfEvents[e.Kind]; ok {
			h.Icon, h.Class = s.Icon, s.Class
		}
		list = append(list, h)
	}
	return list, err
}

// bulkTimelinePage tells what happened to a bulk action.
type bulkTimelinePage struct {
	bulkHead
	Events []happening
}

func (d *Dashboard) bulkTimeline(ctx context.Context, v *visit) (content, error) {
	h, c, err := v.bulkHead(ctx, "Timeline")
	if err != nil {
		return c, err
	}
	page := bulkTimelinePage{bulkHead: h}
	if page.Events, err = v.events(ctx, h.Bulk.ID, 200); err != nil {
		return c, err
	}
	c.Page, c.Weir = page, []string{"weir timeline " + h.Bulk.ID}
	return c, nil
}
