package dashboard

import (
	"context"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/chart"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// bulkPages registers the pages of bulk actions.
func (d *Dashboard) bulkPages() {
	d.page("/bulk-actions", "list", d.bulkActions)
	d.page("/bulk-actions/{id}", "bulk-action", d.bulkAction)
	d.page("/bulk-actions/{id}/items", "bulk-items", d.bulkItems)
	d.page("/bulk-actions/{id}/errors", "bulk-errors", d.bulkErrors)
	d.page("/bulk-actions/{id}/timeline", "bulk-timeline", d.bulkTimeline)
	d.page("/bulk-actions/{id}/decisions", "bulk-decisions", d.bulkDecisions)
	d.page("/bulk-actions/{id}/rules", "bulk-rules", d.bulkRules)
	d.form("/bulk-actions/{id}/rules", d.changeRules)
	d.page("/bulk-actions/{id}/report", "bulk-report", d.bulkReport)
	d.download("/bulk-actions/{id}/results", bulkResults)
	d.download("/bulk-actions/{id}/bad-rows.csv", badRows)
	d.download("/bulk-actions/{id}/duplicates.csv", repeatedRows)
	d.form("/bulk-actions/{id}/retry", d.retryItems)
	d.page("/bulk-actions/{id}/{verb}", "confirm", d.confirmVerb)
	d.form("/bulk-actions/{id}/{verb}", d.act)
}

// bulkHead is what all pages of one bulk action have in common.
type bulkHead struct {
	Bulk     api.BulkAction
	Progress api.Progress
	Share    string
	Verbs    []verb // those that have a button
	More     []verb // those in the menu
	Again    bool   // a template can be made of it
	NoSched  string // why no schedule can be made of it, empty if one can
	Tabs     []tab
}

// tab is one of the pages of a bulk action.
type tab struct {
	Name, Path string
	Count      int64
	Current    bool
}

// bulkHead asks for a bulk action and its progress.
func (v *visit) bulkHead(ctx context.Context, current string) (h bulkHead, c content, err error) {
	id := v.PathValue("id")
	if h.Bulk, err = v.api.Get(ctx, id); err != nil {
		return h, c, err
	}
	if h.Progress, err = v.api.Progress(ctx, id); err != nil {
		return h, c, err
	}
	if h.Bulk.UndoneBy == "" {
		h.Bulk.Open = max(h.Bulk.Open+h.Progress.Counts.Failed-h.Bulk.Counts.Failed, 0) // what failed meanwhile is open
	}
	h.Bulk.Counts = h.Progress.Counts // a page is of one moment
	h.Share = format.Share(progressed(&h.Bulk), h.Bulk.Counts.Total)
	if h.Verbs, h.More, err = v.verbsOf(ctx, &h.Bulk, &h.Progress); err != nil {
		return h, c, err
	}
	h.Again, h.NoSched = repeats(&h.Bulk) && v.may("submit"), noSchedule(&h.Bulk)
	report := "Report so far"
	if h.Bulk.State.Final() {
		report = "Report"
	}
	h.Tabs = []tab{{Name: "Progress"}, {Name: "Items", Path: "/items"}, {Name: "Errors", Path: "/errors", Count: h.Bulk.Open},
		{Name: "Timeline", Path: "/timeline"}, {Name: "Decisions", Path: "/decisions"}, {Name: "Rules", Path: "/rules"}, {Name: report, Path: "/report"}}
	if h.Bulk.State == api.Draft { // the others need items that were accepted
		h.Tabs = slices.DeleteFunc(h.Tabs, func(t tab) bool { return t.Path != "" && t.Path != "/timeline" && t.Path != "/rules" })
	}
	for i := range h.Tabs {
		h.Tabs[i].Current = strings.HasPrefix(h.Tabs[i].Name, current)
	}
	title := h.Bulk.Name + ", " + h.Share
	if current != "Progress" {
		title = current + " of " + h.Bulk.Name
	}
	return h, content{Title: title, Nav: "Bulk actions", Weir: []string{"weir get " + id, "weir watch " + id}}, nil
}

// openFailures says how many failed items are not dealt with, if these are not those that have failed before any retry.
func openFailures(b *api.BulkAction, failed int64) string {
	switch {
	case b.Open == failed || b.UndoneBy != "":
		return ""
	case b.Open == 0:
		return "all dealt with"
	case b.Open > failed: // items that were not failed here are among them
		return "with its retries " + format.Count(b.Open) + " not dealt with"
	}
	return format.Count(b.Open) + " not dealt with"
}

// NotDealtWith says how many failed items are open, where the number of the failed ones does not.
func (l line) NotDealtWith() string { return openFailures(&l.BulkAction, l.Counts.Failed) }

// CutOff reports whether a cancel ended items that are not counted as finished.
func (p bulkPage) CutOff() bool { return p.Finished < finished(p.Bulk.Counts) }

// NotDealtWith says how many failed items are open, where the number of the failed ones does not.
func (h bulkHead) NotDealtWith() string { return openFailures(&h.Bulk, h.Progress.Counts.Failed) }

// bulkPage shows how far a bulk action is, when it ends, and what keeps it.
type bulkPage struct {
	bulkHead
	Finished int64
	Ends     string // when it ends, or ended
	Left     string // how long that is from now, or how long it took
	AddsUp   string // empty: it does
	Stack    template.HTML
	Why      string
	WhyMore  string
	Steps    []stepLine
	Speed    template.HTML // chart of its whole life, empty before it has one
	Finding  string
	Errors   []errorLine
	Events   []happening
}

// stepLine is one step in the table of steps.
type stepLine struct {
	api.StepProgress
	Number   int
	CameIn   int64
	Before   string // the step before it
	Attempts string // per item that was called
	Bar      template.HTML
}

// fewErrors is how many groups of errors the page of the progress shows, fewEvents how many events.
const (
	fewErrors = 5
	fewEvents = 5
)

func (d *Dashboard) bulkAction(ctx context.Context, v *visit) (content, error) {
	h, c, err := v.bulkHead(ctx, "Progress")
	if err != nil {
		return c, err
	}
	p := &h.Progress
	page := bulkPage{bulkHead: h, Finished: progressed(&h.Bulk), AddsUp: addsUp(p.Counts), Stack: stack("stack", p.Counts)}
	page.end(v, &h.Bulk, p)
	page.why(p)
	for i := range p.Steps {
		page.Steps = append(page.Steps, lineOf(p.Steps, i))
	}
	if err := page.draw(ctx, v); err != nil {
		return c, err
	}
	if page.Errors, _, err = v.errorLines(ctx, &page.bulkHead); err != nil {
		return c, err
	}
	page.Errors = page.Errors[:min(len(page.Errors), fewErrors)]
	if page.Events, err = v.events(ctx, h.Bulk.ID, fewEvents); err != nil {
		return c, err
	}
	c.Page = page
	return c, nil
}

// draw shows the speed of a bulk action since its start.
func (page *bulkPage) draw(ctx context.Context, v *visit) error {
	if page.Bulk.StartedAt.IsZero() {
		return nil
	}
	s, err := v.api.BulkSeries(ctx, page.Bulk.ID)
	ended := plus(s.Done, s.Failed, withoutLast(s.Cancelled, neverProcessed(page.Progress.Counts, page.Progress.Steps)))
	if !page.Bulk.State.Final() && s.Points > 0 {
		// The last step has only begun, and holds everything since the last measurement: as a speed that is too much.
		s.Points--
		s.End, ended, s.AllowedRate = s.At(s.Points), ended[:s.Points], s.AllowedRate[:s.Points]
	}
	if err != nil || s.Points < 2 {
		return err
	}
	page.Finding = page.speedNow(s.AllowedRate)
	page.Speed = v.speed("c-life", "Items per second since the start", page.Finding, 120, &s.Timeline, ended, s.AllowedRate, whole)
	return nil
}

// speedNow says what the chart of the speed shows, as of the moment of the other numbers of the page.
func (page *bulkPage) speedNow(allowed api.Column) string {
	over := page.Bulk.State.Final()
	text := format.Rate(page.Progress.Rate) + " now"
	if over {
		text = "It has ended"
	}
	if rate, limited := last(allowed); limited {
		text += ", " + format.Count(int64(rate)) + "/s allowed"
	}
	if !over {
		text += ", " + format.Items(page.Progress.Counts.InFlight) + " in flight"
	}
	return text + "."
}

// end says when the bulk action ends, or ended.
func (page *bulkPage) end(v *visit, b *api.BulkAction, p *api.Progress) {
	switch {
	case !b.FinishedAt.IsZero():
		page.Ends, page.Left = v.clock.Time(b.FinishedAt), "took "+format.Duration(b.FinishedAt.Sub(b.StartedAt))
	case !p.LikelyEnd.IsZero():
		page.Ends = ending(v.clock, p)
		page.Left = "in " + format.Duration(time.Duration(p.ETA))
	}
}

// ending writes the likely end, or the times between which it probably is.
func ending(c format.Clock, p *api.Progress) string {
	if p.LikelyEndTo.IsZero() {
		return c.Time(p.LikelyEnd)
	}
	return c.Between(p.LikelyEndFrom, p.LikelyEndTo)
}

// why says what it waits on: the worst cause as a sentence, and the others after it.
func (page *bulkPage) why(p *api.Progress) {
	for i, c := range p.WaitingOn {
		text := c.Text
		if c.Detail != "" {
			text = format.Clause(text) + ": " + c.Detail
		}
		if i == 0 {
			page.Why = text
			continue
		}
		page.WhyMore += format.Stop(text) + " "
	}
	switch k := p.Counts; p.State {
	case api.Stopped:
		page.WhyMore = sentence(p.Reason)
	case api.Awaiting:
		page.WhyMore = fmt.Sprintf("Of its canary %s done and %s failed; %s.", format.Plural(k.Done, "item is", "items are"),
			format.Count(k.Failed), format.Plural(k.Ready+k.Waiting, "item waits", "items wait"))
	}
}

// stack draws the items by state, in the order of all sums.
func stack(class string, c api.Counts) template.HTML {
	return chart.Stack(class, c.Total, chart.Part{Class: "f-done", Count: c.Done}, chart.Part{Class: "f-failed", Count: c.Failed},
		chart.Part{Class: "f-running", Count: c.InFlight}, chart.Part{Class: "f-waiting", Count: c.Waiting},
		chart.Part{Class: "f-ready", Count: c.Ready}, chart.Part{Class: "f-cancelled", Count: c.Cancelled})
}

// cameIn counts the items that reached a step.
func cameIn(s *api.StepProgress) int64 {
	return s.Done + s.Failed + s.LeftOut + s.Cancelled + s.Pending
}

func lineOf(steps []api.StepProgress, i int) stepLine {
	s := steps[i]
	l := stepLine{StepProgress: s, Number: i + 1, CameIn: cameIn(&s), Attempts: "–"}
	if i > 0 {
		l.Before = steps[i-1].Step
	}
	if s.Called > 0 {
		l.Attempts = fmt.Sprintf("%.2f", float64(s.Attempts)/float64(s.Called))
	}
	l.Bar = chart.Stack("hbar", l.CameIn, chart.Part{Class: "f-done", Count: s.Done}, chart.Part{Class: "f-failed", Count: s.Failed},
		chart.Part{Class: "f-cancelled", Count: s.LeftOut + s.Cancelled}, chart.Part{Class: "f-ready", Count: s.Pending})
	return l
}
