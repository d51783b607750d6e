package dashboard

import (
	"cmp"
	"context"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// onPage is how many bulk actions a page lists.
const onPage = 50

// line is one bulk action in a list.
type line struct {
	api.BulkAction
	Finished    int64
	Bar         string // class of its bar: it has another colour while nothing moves
	Speed, Ends string
	NoEnd       string // why the end is unknown
	Waiting     string
	Share       string
}

// listPage lists bulk actions. Its address holds the filters.
type listPage struct {
	Lines     []line
	Filter    client.Filter
	States    []choice
	Templates []choice
	Older     template.URL // query of the next page
	First     bool         // it is the first page
	Filtered  bool
	Note      string
}

// bulkActions lists bulk actions, the newest first.
func (d *Dashboard) bulkActions(ctx context.Context, v *visit) (content, error) {
	q := v.URL.Query()
	f := client.Filter{State: api.State(q.Get("state")), Tenant: strings.TrimSpace(q.Get("tenant")), Name: strings.TrimSpace(q.Get("name")),
		Label: strings.TrimSpace(q.Get("label")), Template: q.Get("template")}
	page := listPage{Filter: f, First: q.Get("cursor") == "", Filtered: f != client.Filter{}}
	page.States = choices(string(f.State), "All", "", "Running", "running", "Awaiting approval", "awaiting_approval", "Paused", "paused",
		"Stopped by a rule", "stopped", "Scheduled", "scheduled", "Draft", "draft", "Not started", "sealed", "Completed", "completed", "Cancelled", "cancelled")
	filter := url.Values{"state": {string(f.State)}, "tenant": {f.Tenant}, "name": {f.Name}, "label": {f.Label}, "template": {f.Template},
		"cursor": {q.Get("cursor")}, "limit": {strconv.Itoa(onPage)}, "progress": {"true"}}
	list, err := pageOf[api.BulkAction](ctx, v, "/v1/bulk-actions", filter)
	if err != nil {
		return content{}, err
	}
	for i := range list.Data {
		page.Lines = append(page.Lines, v.line(&list.Data[i]))
	}
	if page.Note = list.Note; list.HasMore {
		filter.Set("cursor", list.NextCursor)
		page.Older = older(filter)
	}
	templates, err := collect(v.api.Templates().List(ctx), 100)
	if err != nil {
		return content{}, err
	}
	page.Templates = choices(f.Template, "Any", "")
	for i := range templates {
		t := &templates[i]
		page.Templates = append(page.Templates, choice{cmp.Or(t.Title, t.Name), t.Name, t.Name == f.Template})
	}
	command := "weir list"
	for _, o := range []fact{{"--state", string(f.State)}, {"--tenant", f.Tenant}, {"--name", f.Name}, {"--label", f.Label}, {"--template", f.Template}} {
		if o.Value != "" {
			command += " " + o.Name + " " + quoted(o.Value)
		}
	}
	return content{Title: "Bulk actions", Nav: "Bulk actions", Page: page, Weir: []string{command}}, nil
}

// lines returns the newest bulk actions, of some states if those are not empty, and whether there are more.
func (v *visit) lines(ctx context.Context, states string, most int) (lines []line, more bool, err error) {
	list, err := pageOf[api.BulkAction](ctx, v, "/v1/bulk-actions",
		url.Values{"state": {states}, "limit": {strconv.Itoa(most)}, "progress": {"true"}})
	for i := range list.Data {
		lines = append(lines, v.line(&list.Data[i]))
	}
	return lines, list.HasMore, err
}

func (v *visit) line(b *api.BulkAction) line {
	l := line{BulkAction: *b, Finished: finished(b.Counts), Bar: signOf(b.State).Class, Speed: "–", Ends: "–",
		Share: format.Share(finished(b.Counts), b.Counts.Total)}
	p := b.Progress
	switch {
	case !b.FinishedAt.IsZero():
		l.Ends = v.clock.Time(b.FinishedAt)
		return l
	case b.State == api.Scheduled:
		l.Waiting = "Starts " + v.clock.Time(b.StartAt)
		return l
	case p == nil || b.State == api.Draft:
		return l
	case len(p.WaitingOn) > 0:
		l.Waiting = p.WaitingOn[0].Text
	}
	if b.State != api.Running {
		return l
	}
	l.Speed, l.Ends, l.NoEnd = format.Speed(p.Rate), "Unknown", p.NoEnd
	if !p.LikelyEnd.IsZero() {
		l.Ends = ending(v.clock, p)
	}
	if p.Rate == 0 || slices.ContainsFunc(p.WaitingOn, func(c api.Cause) bool { return c.Reason == "circuit_open" }) {
		l.Bar = "waiting"
	}
	return l
}
