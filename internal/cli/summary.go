package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/report"
)

// Most errors and reasons that the summary names; the report has them all.
const shownGroups = 5

// conclude writes the report of a bulk action that has settled, prints its summary, and returns the exit code.
func (l *link) conclude(ctx context.Context, scr *screen, r *running) (code int, err error) {
	id := r.bulk.ID
	rep, err := l.Report(ctx, id)
	if err != nil {
		return 0, l.unwritten(ctx, err, r)
	}
	switch {
	case rep.State == api.Awaiting:
		l.say("the canary has ended; the remaining items wait for approval: %s", l.approval(id))
		return exitStopped, nil
	case rep.State == api.Failed:
		return 0, &failure{exitOther, fmt.Sprintf("%s cannot continue: %s", id, rep.Reason), "fix the cause, then create it again"}
	}
	sum := summaryOf(&rep)
	var files []string
	if r.run != nil {
		sum.Duplicates, sum.Invalid = r.run.Duplicates, r.run.Invalid
		if files, err = l.write(ctx, sum, r.run.results); err != nil {
			return 0, l.unwritten(ctx, err, r)
		}
	}
	scr.print(l.summary(scr.paint, r, &rep, sum, files)...)
	switch {
	case rep.State == api.Stopped:
		return exitStopped, nil
	case rep.Counts.Done != rep.Counts.Total:
		return exitSomeFailed, nil
	}
	return exitOK, nil
}

// approval is the command that approves the canary of a bulk action.
func (l *link) approval(id string) string {
	if l.local != nil {
		return fmt.Sprintf("%s run --resume %s --approve%s", l.env.Program, id, l.flag)
	}
	return fmt.Sprintf("%s approve %s%s", l.env.Program, id, l.flag)
}

// unwritten says that a run has not suffered from a report that could not be written.
func (l *link) unwritten(ctx context.Context, err error, r *running) error {
	if r.run == nil {
		return err
	}
	f := &failure{exitOther, err.Error(), "the run is safe: write its report with " + l.env.Program + " report " +
		r.bulk.ID + " -d DIR" + l.flag}
	if ctx.Err() != nil {
		f.code, f.what = exitInterrupted, "interrupted while the report was being written"
	}
	return f
}

// summary returns the lines to print at the end.
func (l *link) summary(p paint, r *running, rep *api.Report, sum *report.Summary, files []string) []string {
	took, note, said := time.Duration(rep.Duration), "", r.forecast
	if rep.Forecast != nil {
		said = time.Duration(rep.Forecast.P50)
	}
	if r.resumed != nil && !r.over {
		took, note = r.resumed.only(sum), " since the resume"
	}
	head := headline(p, sum, span(took)+note+offBy(said, sum, took))
	if r.over {
		mark, words := verdict(p, sum.Counts)
		head = fmt.Sprintf("%s nothing to resume: %s is %s, %s", mark, sum.ID, sum.State, words)
	}
	return (*summary)(sum).lines(p, head, note, files, l.nextSteps(sum, r))
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
		Losses: lossesOf(r.Losses),
		Counts: weir.Counts(r.Counts),
	}
	if !r.FinishedAt.IsZero() {
		s.FinishedAt = &r.FinishedAt
	}
	for _, x := range r.Steps {
		s.Steps = append(s.Steps, report.Step{
			Name: x.Step, Action: x.Action, Done: x.Done, Failed: x.Failed, LeftOut: x.LeftOut, Attempts: x.Attempts,
			Calls: x.Calls, Retries: x.Retries,
			Refused: x.Refused, Pending: x.Pending, Cancelled: x.Cancelled, Skipped: x.Skipped, Rate: x.Rate,
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

func (sum *summary) lines(p paint, head, rateNote string, files, next []string) []string {
	name := len("duplicates")
	for _, st := range sum.Steps {
		name = max(name, len(st.Name))
	}
	row := func(head, text string) string { return "    " + pad(p.dim(head), name) + "   " + text }
	whole := (*report.Summary)(sum)
	lines := []string{"", "  " + head, "", row("items", itemsText(p, whole))}
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
		lines = append(lines, row("lost work", p.red(lossText(sum.Losses))))
	}
	if len(files) > 0 {
		lines = append(lines, row("files", strings.Join(files, "  ")))
	}
	for _, n := range next {
		lines = append(lines, row("next", n))
	}
	return lines
}

// headline says how a bulk action ended, or that it was stopped, and how long that took.
func headline(p paint, sum *report.Summary, duration string) string {
	c := sum.Counts
	switch sum.State {
	case weir.BulkStopped.String():
		return p.red("■") + fmt.Sprintf(" stopped after %s, %s failed: %s", duration, plural(c.Failed, "item", "items"),
			cmp.Or(tame(sum.Reason), "failure rule"))
	case weir.BulkCancelled.String():
		return p.yellow("■") + fmt.Sprintf(" cancelled after %s, %s cancelled, %s failed", duration,
			plural(c.Cancelled, "item", "items"), number(c.Failed))
	}
	if sum.Reason == "deadline" {
		cut := cutAtDeadline((*summary)(sum))
		return p.yellow("■") + fmt.Sprintf(" ended by its deadline after %s, %s cancelled, %s failed", duration,
			plural(cut, "item", "items"), number(c.Failed))
	}
	mark, words := verdict(p, c)
	return fmt.Sprintf("%s finished in %s, %s", mark, duration, words)
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
func verdict(p paint, c weir.Counts) (mark, words string) {
	switch {
	case c.Failed == c.Total && c.Total > 0:
		return p.red("✗"), "all items failed"
	case c.Done == c.Total:
		return p.green("✓"), "all items done"
	case c.Failed == 0:
		return p.yellow("✓"), plural(c.Cancelled, "item", "items") + " cancelled"
	}
	return p.yellow("!"), plural(c.Failed, "item", "items") + " failed"
}

func itemsText(p paint, sum *report.Summary) string {
	c := sum.Counts
	failed := "failed " + number(c.Failed)
	if c.Failed > 0 {
		failed = p.red(failed)
	}
	parts := []string{number(c.Total), fmt.Sprintf("done %s (%s)", number(c.Done), exactPercent(c.Done, c.Total)), failed,
		"cancelled " + number(c.Cancelled)}
	if n := c.Pending(); n > 0 {
		parts = append(parts, "pending "+number(n))
	}
	var ignored []string
	if sum.Duplicates > 0 {
		ignored = append(ignored, plural(sum.Duplicates, "duplicate row", "duplicate rows"))
	}
	if sum.Invalid > 0 {
		ignored = append(ignored, plural(sum.Invalid, "invalid row", "invalid rows"))
	}
	if len(ignored) > 0 {
		parts = append(parts, "("+joinAnd(ignored)+" ignored)")
	}
	return strings.Join(parts, "   ")
}

// exactPercent never rounds up to 100%.
func exactPercent(part, whole int64) string {
	if part == whole {
		return "100%"
	}
	return fmt.Sprintf("%.2f%%", float64(part*10000/max(whole, 1))/100)
}

func stepText(s report.Step, rateNote string) string {
	text := "done " + number(s.Done)
	if s.Skipped > 0 {
		text += "   of them skipped " + number(s.Skipped)
	}
	text += "   failed " + number(s.Failed)
	if s.Attempts == 0 && s.Refused == 0 {
		return text + "   no attempts"
	}
	text += "   item attempts " + number(s.Attempts)
	if s.Calls > 0 { // 0: a version that did not count them ran it
		text += "   calls " + number(s.Calls)
	}
	if s.Refused > 0 { // by a busy downstream, or one that said that the call itself is wrong
		text += "   items sent back " + number(s.Refused)
	}
	if l := s.Latency; l.Max > 0 { // known once it has ended
		text += fmt.Sprintf("   p50 %s  p95 %s  p99 %s", span(time.Duration(l.P50)), span(time.Duration(l.P95)), span(time.Duration(l.P99)))
	}
	return text + "   " + perSecond(s.Rate) + rateNote
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
		parts = append(parts, fmt.Sprintf("%s %s %s", number(g.Count), g.Step, g.Code))
	}
	return strings.Join(parts, " · ")
}

// nextSteps are the commands that make sense now.
func (l *link) nextSteps(sum *report.Summary, r *running) (next []string) {
	program, data, id := l.env.Program, l.flag, sum.ID
	resume := "resume "
	if r.run != nil {
		resume = "run --resume "
	}
	switch {
	case sum.State == weir.BulkStopped.String():
		next = append(next, fmt.Sprintf("%s %s%s%s   (continues with the %s left)", program, resume, id, data, number(sum.Counts.Pending())))
		if r.run != nil {
			if names := endpointsOf(r.run.Actions, r.bulk.Steps); len(names) > 0 {
				next = append(next, "if a URL is wrong: "+correction(names))
			}
		}
	case len(sum.Retries) > 0:
		next = append(next, "failed items were retried by "+strings.Join(sum.Retries, ", "))
	case sum.Counts.Failed > 0:
		next = append(next, fmt.Sprintf("%s retry %s%s   (retries only the %s)", program, id, data, number(sum.Counts.Failed)))
	}
	if cut := cutAtDeadline((*summary)(sum)); cut > 0 && len(sum.Retries) == 0 {
		next = append(next, fmt.Sprintf("%s retry %s --state cancelled%s   (runs the %s that its deadline cancelled)",
			program, id, data, number(cut)))
	}
	if r.run == nil || r.run.Report == "" {
		next = append(next, fmt.Sprintf("%s report %s -d out/%s   (writes a row per item)", program, id, data))
	}
	return next
}
