package watch

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/local"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/report"
)

// Running is a run under way, with what is known about it.
type Running struct {
	Run      *local.Run
	Bulk     api.BulkAction
	Forecast time.Duration // how long it was said to take; 0: unknown
	Over     bool          // it had ended before this process began
	Resumed  *Resumption
}

// Resumption records the state of a bulk action when this process resumed it.
type Resumption struct {
	At    time.Time
	Steps []api.StepProgress
}

// only makes the rates of a summary those since the resumption, and returns how long ago that is.
func (r *Resumption) only(sum *report.Summary) time.Duration {
	end := time.Now()
	if sum.FinishedAt != nil {
		end = *sum.FinishedAt
	}
	took := end.Sub(r.At)
	for i := range min(len(sum.Steps), len(r.Steps)) {
		sum.Steps[i].Rate = 0
		if took > 0 {
			sum.Steps[i].Rate = float64(sum.Steps[i].Done-r.Steps[i].Done) / took.Seconds()
		}
	}
	return took
}

// Most errors and reasons that the summary names; the report has them all.
const shownGroups = 5

// Conclude writes the report of a bulk action that has settled, prints its summary, and returns the exit code.
func Conclude(ctx context.Context, l *link.Link, scr *term.Screen, r *Running) (code int, err error) {
	id := r.Bulk.ID
	rep, err := l.Report(ctx, id)
	if err != nil {
		return 0, unwritten(ctx, l, err, r)
	}
	switch {
	case rep.State == api.Awaiting:
		l.Say("the canary has ended; the remaining items wait for approval: %s", approval(l, id))
		return command.ExitStopped, nil
	case rep.State == api.Failed:
		return 0, command.Fail(command.ExitOther, fmt.Sprintf("%s cannot continue: %s", id, rep.Reason),
			"fix the cause, then create it again")
	}
	sum := summaryOf(&rep)
	var files []string
	if r.Run != nil {
		sum.Duplicates, sum.Invalid = r.Run.Duplicates, r.Run.Invalid
		if files, err = writeResults(ctx, l, sum, r.Run.Results); err != nil {
			return 0, unwritten(ctx, l, err, r)
		}
	}
	scr.Print(summaryLines(l, scr.Paint, r, &rep, sum, files)...)
	switch {
	case rep.State == api.Stopped:
		return command.ExitStopped, nil
	case rep.Counts.Done != rep.Counts.Total:
		return command.ExitSomeFailed, nil
	}
	return command.ExitOK, nil
}

// approval is the command that approves the canary of a bulk action.
func approval(l *link.Link, id string) string {
	if l.Local != nil {
		return fmt.Sprintf("%s run --resume %s --approve%s", l.Env.Program, id, l.Flag)
	}
	return fmt.Sprintf("%s approve %s%s", l.Env.Program, id, l.Flag)
}

// unwritten says that a run has not suffered from a report that could not be written.
func unwritten(ctx context.Context, l *link.Link, err error, r *Running) error {
	if r.Run == nil {
		return err
	}
	f := command.Fail(command.ExitOther, err.Error(), "the run is safe: write its report with "+l.Env.Program+" report "+
		r.Bulk.ID+" -d DIR"+l.Flag)
	if ctx.Err() != nil {
		f.Code, f.What = command.ExitInterrupted, "interrupted while the report was being written"
	}
	return f
}

// summaryLines returns the lines to print at the end.
func summaryLines(l *link.Link, p term.Paint, r *Running, rep *api.Report, sum *report.Summary, files []string) []string {
	took, note, said := time.Duration(rep.Duration), "", r.Forecast
	if rep.Forecast != nil {
		said = time.Duration(rep.Forecast.P50)
	}
	if r.Resumed != nil && !r.Over {
		took, note = r.Resumed.only(sum), " since the resume"
	}
	head := headline(p, sum, term.Span(took)+note+offBy(said, sum, took))
	if r.Over {
		mark, words := verdict(p, sum.Counts)
		head = fmt.Sprintf("%s nothing to resume: %s is %s, %s", mark, sum.ID, sum.State, words)
	}
	return (*summary)(sum).lines(p, head, note, files, nextSteps(l, sum, r))
}

// offBy says how far off the forecast was of what has run to its end.
func offBy(said time.Duration, sum *report.Summary, took time.Duration) string {
	if said < time.Second || took <= 0 || sum.State != weir.BulkCompleted.String() || sum.Reason != "" {
		return ""
	}
	return fmt.Sprintf(" (forecast %+.1f%%)", (took.Seconds()/said.Seconds()-1)*100)
}

// summaryOf is a report of the API as report.json has it.
func summaryOf(r *api.Report) *report.Summary {
	s := &report.Summary{
		ID: r.ID, Name: r.Name, Tenant: r.Tenant, State: string(r.State), Reason: r.Reason, Outcome: r.Outcome,
		RetryOf: r.RetryOf, Retries: r.Retries,
		StartedAt: r.StartedAt, Duration: report.Duration(r.Duration), Durability: r.Durability, Duplicates: r.Duplicates,
		Invalid: r.BadLines,
		Losses:  lossesOf(r.Losses),
		Counts:  weir.Counts(r.Counts), Unclear: r.Unclear, UnclearFailed: r.UnclearFailed,
	}
	if r.Combined != nil {
		c := weir.Counts(*r.Combined)
		s.Combined = &c
	}
	if u := r.Undone; u != nil {
		s.Undone = &report.Undone{By: r.UndoneBy, State: string(u.State), Items: u.Items, Done: u.Done, Failed: u.Failed}
	}
	if !r.FinishedAt.IsZero() {
		s.FinishedAt = &r.FinishedAt
	}
	for _, x := range r.Steps {
		s.Steps = append(s.Steps, report.Step{
			Name: x.Step, Action: x.Action, Done: x.Done, Failed: x.Failed, LeftOut: x.LeftOut, Attempts: x.Attempts,
			Calls: x.Calls, Retries: x.Retries,
			Refused: x.Refused, Pending: x.Pending, Cancelled: x.Cancelled, Skipped: x.Skipped, Unclear: x.Unclear, Called: x.Called, Rate: x.Rate,
			Latency: report.Latency{P50: report.Duration(x.P50), P95: report.Duration(x.P95), P99: report.Duration(x.P99),
				Max: report.Duration(x.Max)},
		})
	}
	for _, w := range r.Waited {
		s.Waited = append(s.Waited, report.Wait{Reason: w.Reason, Duration: report.Duration(w.Duration), Share: w.Share})
	}
	for _, g := range r.Errors {
		s.Errors = append(s.Errors, report.Group{Step: g.Step, Code: g.Code, Message: g.Message, Count: g.Count,
			Sample: report.Sample{ID: g.Item, Message: g.Example}})
	}
	return s
}

// summary is the result of a bulk action, for people.
type summary report.Summary

func (sum *summary) lines(p term.Paint, head, rateNote string, files, next []string) []string {
	name := len("duplicates")
	for _, st := range sum.Steps {
		name = max(name, len(st.Name))
	}
	row := func(head, text string) string { return "    " + term.Pad(p.Dim(head), name) + "   " + text }
	whole := (*report.Summary)(sum)
	lines := []string{"", "  " + head, "", row("items", itemsText(p, whole))}
	if sum.Undone != nil {
		lines = append(lines, row("undone", p.Yellow(undoneText(sum.Undone))))
	}
	if text := unclearText(sum); text != "" {
		lines = append(lines, row("unclear", p.Yellow(text)))
	}
	for _, st := range sum.Steps {
		lines = append(lines, row(st.Name, stepText(st, rateNote)))
	}
	if w := waitText(sum.Waited); w != "" {
		lines = append(lines, row("waited on", w))
	}
	if e := errorText(sum.Errors); e != "" {
		lines = append(lines, row("errors", e))
	}
	if len(sum.Losses) > 0 {
		lines = append(lines, row("lost work", p.Red(lossText(sum.Losses))))
	}
	if len(files) > 0 {
		lines = append(lines, row("files", strings.Join(files, "  ")))
	}
	for _, n := range next {
		lines = append(lines, row("next", n))
	}
	return lines
}

// unclearText says which items of a bulk action that has ended have no clear answer, empty if none.
func unclearText(sum *summary) string {
	if sum.Unclear+sum.UnclearFailed == 0 || sum.FinishedAt == nil {
		return ""
	}
	which := term.Plural(sum.Unclear, "cancelled item has", "cancelled items have")
	switch {
	case sum.Unclear == 0:
		which = term.Plural(sum.UnclearFailed, "failed item has", "failed items have")
	case sum.UnclearFailed > 0:
		which = fmt.Sprintf("%s failed and %s cancelled items have", term.Number(sum.UnclearFailed), term.Number(sum.Unclear))
	}
	text := which + " no clear answer: the service may have done the work"
	if sum.Undone != nil {
		text += "; they were not undone and cannot be retried: check them at the service"
	}
	return text
}

// undoneText says how far an undo has come.
func undoneText(u *report.Undone) string {
	if u.State == "" {
		return "by " + u.By + ", which is no longer kept"
	}
	text := fmt.Sprintf("by %s, which is %s: %s of %s undone", u.By, u.State, term.Number(u.Done), term.Plural(u.Items, "item", "items"))
	return text + andFailed(u.Failed)
}

// headline says how a bulk action ended, or that it was stopped, and how long that took.
func headline(p term.Paint, sum *report.Summary, duration string) string {
	c := sum.Counts
	switch sum.State {
	case weir.BulkStopped.String():
		return p.Red("■") + fmt.Sprintf(" stopped after %s%s: %s", duration, andFailed(c.Failed),
			cmp.Or(term.Tame(sum.Reason), "failure rule"))
	case weir.BulkCancelled.String():
		return p.Yellow("■") + fmt.Sprintf(" cancelled after %s, %s cancelled%s", duration,
			term.Plural(c.Cancelled, "item", "items"), andFailed(c.Failed))
	}
	if sum.Reason == "deadline" {
		cut := cutAtDeadline((*summary)(sum))
		return p.Yellow("■") + fmt.Sprintf(" ended by its deadline after %s, %s cancelled%s", duration,
			term.Plural(cut, "item", "items"), andFailed(c.Failed))
	}
	mark, words := verdict(p, c)
	return fmt.Sprintf("%s finished in %s, %s", mark, duration, words)
}

// andFailed adds the failed items to a sentence, if there are any.
func andFailed(n int64) string {
	if n == 0 {
		return ""
	}
	return ", " + term.Plural(n, "item", "items") + " failed"
}

// cutAtDeadline returns how many items a deadline cancelled, without items that a step left out before.
func cutAtDeadline(sum *summary) (n int64) {
	if sum.State != weir.BulkCompleted.String() || sum.Reason != "deadline" {
		return 0
	}
	for _, st := range sum.Steps {
		n += st.Cancelled
	}
	return n
}

// verdict says what became of the items of a bulk action that has ended. Only a success is ticked.
func verdict(p term.Paint, c weir.Counts) (mark, words string) {
	switch {
	case c.Failed == c.Total && c.Total > 0:
		return p.Red("✗"), "all items failed"
	case c.Done == c.Total:
		return p.Green("✓"), "all items done"
	case c.Failed == 0:
		return p.Yellow("✓"), term.Plural(c.Cancelled, "item", "items") + " cancelled"
	}
	return p.Yellow("!"), term.Plural(c.Failed, "item", "items") + " failed"
}

func itemsText(p term.Paint, sum *report.Summary) string {
	c := sum.Counts
	failed := "failed " + term.Number(c.Failed)
	if c.Failed > 0 {
		failed = p.Red(failed)
	}
	parts := []string{term.Number(c.Total), fmt.Sprintf("done %s (%s)", term.Number(c.Done),
		term.ExactPercent(c.Done, c.Total)), failed,
		"cancelled " + term.Number(c.Cancelled)}
	if n := c.Pending(); n > 0 {
		parts = append(parts, "pending "+term.Number(n))
	}
	var ignored []string
	if sum.Duplicates > 0 {
		ignored = append(ignored, term.Plural(sum.Duplicates, "duplicate row", "duplicate rows"))
	}
	if sum.Invalid > 0 {
		ignored = append(ignored, term.Plural(sum.Invalid, "invalid row", "invalid rows"))
	}
	if len(ignored) > 0 {
		parts = append(parts, "("+term.JoinAnd(ignored)+" ignored)")
	}
	return strings.Join(parts, "   ")
}

func stepText(s report.Step, rateNote string) string {
	text := "done " + term.Number(s.Done)
	if s.Skipped > 0 {
		text += "   of them skipped " + term.Number(s.Skipped)
	}
	text += "   failed " + term.Number(s.Failed)
	if s.Attempts == 0 && s.Refused == 0 {
		return text + "   no attempts"
	}
	text += "   item attempts " + term.Number(s.Attempts)
	if s.Calls > 0 { // 0: a version that did not count them ran it
		text += "   calls " + term.Number(s.Calls)
	}
	if s.Refused > 0 { // by a busy downstream, or one that said that the call itself is wrong
		text += "   items refused " + term.Number(s.Refused)
	}
	if l := s.Latency; l.Max > 0 { // known once it has ended
		text += fmt.Sprintf("   p50 %s  p95 %s  p99 %s", term.Span(time.Duration(l.P50)), term.Span(time.Duration(l.P95)),
			term.Span(time.Duration(l.P99)))
	}
	return text + "   " + term.PerSecond(s.Rate) + rateNote
}

func waitText(ws []report.Wait) string {
	var parts []string
	for _, w := range ws {
		if w.Share >= 0.01 && len(parts) < shownGroups {
			parts = append(parts, fmt.Sprintf("%s %.0f%%", strings.ReplaceAll(w.Reason, "_", " "), w.Share*100))
		}
	}
	return strings.Join(parts, ", ")
}

func errorText(gs []report.Group) string {
	var parts []string
	for i, g := range gs {
		if i == shownGroups {
			parts = append(parts, fmt.Sprintf("%d more kinds", len(gs)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %s %s", term.Number(g.Count), g.Step, g.Code))
	}
	return strings.Join(parts, " · ")
}

// counted is a number of things after "the": the item, or the 3 items.
func counted(n int64, what string) string {
	if n == 1 {
		return what
	}
	return term.Number(n) + " " + what + "s"
}

// nextSteps are the commands that make sense now.
func nextSteps(l *link.Link, sum *report.Summary, r *Running) (next []string) {
	program, data, id := l.Env.Program, l.Flag, sum.ID
	resume := "resume "
	if r.Run != nil {
		resume = "run --resume "
	}
	switch {
	case sum.State == weir.BulkStopped.String():
		next = append(next, fmt.Sprintf("%s %s%s%s   (continues with the remaining %s)", program, resume, id, data,
			term.Plural(sum.Counts.Pending(), "item", "items")))
		if r.Run != nil {
			if names := local.EndpointsOf(r.Run.Actions, r.Bulk.Steps); len(names) > 0 {
				next = append(next, "if a URL is wrong: "+local.Correction(names))
			}
		}
	case len(sum.Retries) > 0:
		next = append(next, "failed items were retried by "+strings.Join(sum.Retries, ", "))
	case sum.Counts.Failed > 0 && sum.Undone == nil: // else a retry is refused
		next = append(next, fmt.Sprintf("%s retry %s%s   (retries only the %s)", program, id, data,
			counted(sum.Counts.Failed, "failed item")))
	}
	if cut := cutAtDeadline((*summary)(sum)); cut > 0 && len(sum.Retries) == 0 && sum.Undone == nil {
		next = append(next, fmt.Sprintf("%s retry %s --state cancelled%s   (runs the %s that its deadline cancelled)",
			program, id, data, counted(cut, "item")))
	}
	if r.Run == nil || r.Run.Report == "" {
		next = append(next, fmt.Sprintf("%s report %s -d out/%s   (writes a row per item)", program, id, data))
	}
	return next
}
