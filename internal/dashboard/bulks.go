package dashboard

import (
	"cmp"
	"context"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir/api"
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
	Filter    url.Values // as in the address
	Fault     string     // what is wrong with its times
	States    []choice
	Templates []choice
	First     bool         // it is the first page
	Newest    template.URL // query of the first page
	Older     template.URL // query of the next page
	Note      string
}

// bulkActions lists bulk actions, the newest first.
func (d *Dashboard) bulkActions(ctx context.Context, v *visit) (content, error) {
	q := v.kept("state", "tenant", "name", "label", "template", "from", "to")
	from, to, fault := v.between(q)
	cursor := v.URL.Query().Get("cursor")
	page := listPage{Filter: q, Fault: fault, First: cursor == "", Newest: older(q)}
	page.States = choices(q.Get("state"), "All", "", "Running", "running", "Awaiting approval", "awaiting_approval", "Paused", "paused",
		"Stopped by a rule", "stopped", "Scheduled", "scheduled", "Draft", "draft", "Not started", "sealed", "Completed", "completed", "Cancelled", "cancelled")
	asked := url.Values{"state": q["state"], "tenant": q["tenant"], "name": q["name"], "label": q["label"], "template": q["template"],
		"created_after": {inQuery(from)}, "created_before": {inQuery(to)}}
	templates, err := collect(v.api.Templates().List(ctx), 100)
	if err != nil {
		return content{}, err
	}
	page.Templates = choices(q.Get("template"), "Any", "")
	for i := range templates {
		t := &templates[i]
		page.Templates = append(page.Templates, choice{cmp.Or(t.Title, t.Name), t.Name, t.Name == q.Get("template")})
	}
	command := "weir list"
	for _, name := range []string{"state", "tenant", "name", "label", "template", "created_after", "created_before"} {
		if value := asked.Get(name); value != "" {
			command += " --" + strings.ReplaceAll(name, "_", "-") + " " + quoted(value)
		}
	}
	if fault == "" {
		err = page.read(ctx, v, asked, cursor)
	}
	return content{Title: "Bulk actions", Nav: "Bulk actions", Page: page, Weir: []string{command}}, err
}

// read reads the bulk actions that the page shows.
func (p *listPage) read(ctx context.Context, v *visit, asked url.Values, cursor string) error {
	asked.Set("cursor", cursor)
	asked.Set("limit", strconv.Itoa(onPage))
	asked.Set("progress", "true")
	list, err := pageOf[api.BulkAction](ctx, v, "/v1/bulk-actions", asked)
	for i := range list.Data {
		p.Lines = append(p.Lines, v.line(&list.Data[i]))
	}
	if p.Note = list.Note; list.HasMore {
		next := maps.Clone(p.Filter)
		next.Set("cursor", list.NextCursor)
		p.Older = older(next)
	}
	return err
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
	l := line{BulkAction: *b, Finished: progressed(b), Bar: signOf(b.State).Class, Speed: "–", Ends: "–",
		Share: format.Share(progressed(b), b.Counts.Total)}
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
