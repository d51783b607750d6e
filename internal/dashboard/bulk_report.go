package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// bulkReportPage is the report of a bulk action, as people print it.
type bulkReportPage struct {
	bulkHead
	Report   api.Report
	Says     string // the outcome in a sentence
	Steps    []reportStep
	Counts   api.Counts // with all retries
	Retried  int64      // done by retries
	Took     string
	Forecast string
	Speed    string
	AddsUp   string
	Sum      string
	Waited   []waited
	Events   []happening
}

type reportStep struct {
	api.StepReport
	Number int
	CameIn int64
	Before string // the step before it
}

// Rest says what became of the items of a step that are neither done nor failed, empty if there are none.
func (s reportStep) Rest() string {
	text := restOf(&s.StepProgress, s.Before)
	if s.Pending > 0 {
		text = joined(text, format.Count(s.Pending)+" pending")
	}
	return text
}

// Rest says which items of a step were cancelled or left out, empty if none was.
func (s stepLine) Rest() string { return restOf(&s.StepProgress, s.Before) }

// restOf says which items of a step were cancelled or left out; before is the step before it.
func restOf(s *api.StepProgress, before string) (text string) {
	if s.LeftOut > 0 {
		text = format.Count(s.LeftOut) + " left out"
	}
	if s.Cancelled > 0 {
		cancelled := format.Count(s.Cancelled) + " cancelled"
		if before != "" {
			cancelled += " after " + before
		}
		text = joined(text, cancelled)
	}
	return text
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}

type waited struct {
	Text  string
	Share float64
	Time  string
}

func (d *Dashboard) bulkReport(ctx context.Context, v *visit) (content, error) {
	h, c, err := v.bulkHead(ctx, "Report")
	if err != nil {
		return c, err
	}
	r, err := v.api.Report(ctx, h.Bulk.ID)
	if err != nil {
		return c, err
	}
	k := r.Counts
	if r.Combined != nil {
		k = *r.Combined
	}
	page := bulkReportPage{bulkHead: h, Report: r, Counts: k, Retried: k.Done - r.Counts.Done, Took: "–", Speed: "–", AddsUp: addsUp(k),
		Sum: fmt.Sprintf("%s + %s + %s = %s", format.Count(k.Done), format.Count(k.Failed), format.Count(k.Cancelled), format.Count(k.Total))}
	switch left := k.Ready + k.Waiting + k.InFlight; {
	case !h.Bulk.State.Final():
		page.Sum = "It has not ended: " + format.Items(left) + " left"
	case left > 0:
		page.Sum = "Its retries have not ended: " + format.Items(left) + " left"
	}
	if r.Duration > 0 {
		page.Took = format.Duration(time.Duration(r.Duration))
		processed := finished(r.Counts) - neverProcessed(r.Counts, h.Progress.Steps)
		page.Speed = format.Speed(float64(processed) / time.Duration(r.Duration).Seconds())
	}
	switch f := r.Forecast; {
	case f != nil:
		page.Forecast = comparedWith(f, time.Duration(r.Duration))
	case r.State == api.Cancelled:
		page.Forecast = "cut short: not compared with a forecast"
	}
	for i, s := range r.Steps {
		line := reportStep{StepReport: s, Number: i + 1, CameIn: cameIn(&s.StepProgress)}
		if i > 0 {
			line.Before = r.Steps[i-1].Step
		}
		page.Steps = append(page.Steps, line)
	}
	for _, w := range r.Waited {
		page.Waited = append(page.Waited, waited{cmp.Or(w.Text, w.Reason), w.Share * 100, format.Duration(time.Duration(w.Duration))})
	}
	page.Says = inOneSentence(&r)
	if page.Events, err = v.events(ctx, h.Bulk.ID, 20); err != nil {
		return c, err
	}
	c.Page, c.Weir = page, []string{"weir report " + h.Bulk.ID}
	return c, nil
}

// comparedWith compares how long it took with the forecast, which knows nothing of the time in which people were waited for.
func comparedWith(f *api.Accuracy, took time.Duration) string {
	text := fmt.Sprintf("forecast %s, %+.1f\u00a0%%", format.Duration(time.Duration(f.P50)), f.Error*100)
	if running := time.Duration(float64(f.P50) * (1 + f.Error)); took-running > took/100 {
		return format.Duration(running) + ", not counting " + format.Duration(took-running) + " of waiting for people; " + text
	}
	return text
}

// inOneSentence says whether it worked.
func inOneSentence(r *api.Report) string {
	k, after := r.Counts, ""
	if r.Combined != nil && len(r.Retries) > 0 {
		k, after = *r.Combined, ", with its retries"
	}
	switch {
	case !r.State.Final():
		return "This report is as of now. It is final when the bulk action has ended."
	case r.Undone != nil:
		return fmt.Sprintf("%s of %s were done%s. %s", format.Count(k.Done), format.Items(k.Total), after, undoneInOneSentence(r.Undone))
	case k.Done == k.Total:
		return "All " + format.Items(k.Total) + " are done" + after + "."
	case r.State == api.Cancelled:
		text := fmt.Sprintf("It was cancelled: %s of %s were done before", format.Count(r.Counts.Done), format.Items(k.Total))
		if by := k.Done - r.Counts.Done; by > 0 {
			text += fmt.Sprintf(", %s later by retries", format.Count(by))
		}
		return text + "."
	case k.Failed > 0:
		return fmt.Sprintf("%s of %s are done, %s failed%s.", format.Count(k.Done), format.Items(k.Total), format.Count(k.Failed), after)
	}
	return fmt.Sprintf("%s of %s are done, %s were left out.", format.Count(k.Done), format.Items(k.Total), format.Count(k.Cancelled))
}

// undoneInOneSentence says how far the undo of a bulk action has come.
func undoneInOneSentence(u *api.Undone) string {
	switch words := undoWords(u); {
	case words == "":
		return "It was undone later."
	case !u.State.Final():
		return "It is being undone: " + words + " so far."
	case u.Done < u.Items:
		return "It was partly undone: " + words + "."
	default:
		return "It was undone: " + words + "."
	}
}

// bulkResults streams the items of a bulk action.
func bulkResults(ctx context.Context, v *visit) (file, error) {
	id, state, kind := v.PathValue("id"), v.FormValue("state"), v.FormValue("format")
	if delimiter := v.FormValue("delimiter"); delimiter != "" {
		body, err := v.api.ResultsTable(ctx, id, state, delimiter)
		return file{Name: id + "-" + cmp.Or(state, "failed") + ".csv", Body: body}, err
	}
	body, err := v.api.Results(ctx, id, state, kind)
	return file{Name: id + "-" + cmp.Or(state, "failed") + "." + cmp.Or(kind, "csv"), Body: body}, err
}
