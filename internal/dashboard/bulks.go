package dashboard

import (
	"context"
	"time"

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
	Waiting     string
	Share       string
}

type bulkList struct {
	Lines  []line
	Filter client.Filter
	States []stateFilter
}

type stateFilter struct {
	Name, Value string
	Current     bool
}

// bulkActions lists bulk actions, the newest first.
func (d *Dashboard) bulkActions(ctx context.Context, v *visit) (content, error) {
	q := v.URL.Query()
	f := client.Filter{State: api.State(q.Get("state")), Tenant: q.Get("tenant"), Name: q.Get("name"), Label: q.Get("label"),
		Template: q.Get("template")}
	lines, err := v.lines(ctx, f, onPage)
	page := bulkList{Lines: lines, Filter: f}
	for _, s := range []stateFilter{{Name: "All"}, {Name: "Running", Value: "running"}, {Name: "Awaiting approval",
		Value: "awaiting_approval"}, {Name: "Paused", Value: "paused"}, {Name: "Stopped", Value: "stopped"},
		{Name: "Completed", Value: "completed"}} {
		s.Current = s.Value == string(f.State)
		page.States = append(page.States, s)
	}
	return content{Title: "Bulk actions", Nav: "Bulk actions", Page: page}, err
}

// lines returns the newest bulk actions that a filter lets through.
func (v *visit) lines(ctx context.Context, f client.Filter, most int) (lines []line, err error) {
	for b, err := range v.api.List(ctx, f) {
		if err != nil {
			return nil, err
		}
		l, err := v.line(ctx, b)
		if err != nil {
			return nil, err
		}
		if lines = append(lines, l); len(lines) == most {
			break
		}
	}
	return lines, nil
}

func (v *visit) line(ctx context.Context, b api.BulkAction) (line, error) {
	l := line{BulkAction: b, Finished: finished(b.Counts), Bar: signOf(b.State).Class, Speed: "–", Ends: "–",
		Share: format.Share(finished(b.Counts), b.Counts.Total)}
	switch {
	case !b.FinishedAt.IsZero():
		l.Ends = v.clock.Time(b.FinishedAt)
		return l, nil
	case b.State == api.Scheduled:
		l.Waiting = "Starts " + v.clock.Time(b.StartAt)
		return l, nil
	case b.State == api.Draft:
		return l, nil
	}
	p, err := v.api.Progress(ctx, b.ID)
	if err != nil {
		return l, err
	}
	if len(p.WaitingOn) > 0 {
		l.Waiting = p.WaitingOn[0].Text
	}
	if b.State != api.Running {
		return l, nil
	}
	l.Speed, l.Ends = format.Rate(p.Rate), "Unknown"
	if p.ETA > 0 {
		l.Ends = v.clock.Time(v.clock.Now.Add(time.Duration(p.ETA)))
	}
	if p.Rate == 0 {
		l.Bar = "waiting"
	}
	return l, nil
}
