package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/report"
)

// Most errors and reasons that the summary names; the report has them all.
const shownGroups = 5

// summaryLines returns the lines to print at the end of a run.
func summaryLines(p paint, s *session, r *running, sum *report.Summary, files []string, took time.Duration) []string {
	note := ""
	if r.resumed != nil {
		took, note = r.resumed.only(sum), " since the resume"
	}
	head := headline(p, sum, span(took)+note+r.forecast.compare(sum, took))
	if r.over {
		mark, words := verdict(p, sum.Counts)
		head = fmt.Sprintf("%s nothing to resume: %s is %s, %s", mark, sum.ID, sum.State, words)
	}
	return (*summary)(sum).lines(p, head, note, files, s.nextSteps(sum, r.job))
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
		return p.red("■") + fmt.Sprintf(" stopped after %s, %s failed: %s", duration, plural(c.Failed, "item", "items"), cmp.Or(tame(sum.Reason), "failure rule"))
	case weir.BulkCancelled.String():
		return p.yellow("■") + fmt.Sprintf(" cancelled after %s, %s cancelled, %s failed", duration, plural(c.Cancelled, "item", "items"), number(c.Failed))
	}
	if sum.Reason == "deadline" {
		cut := cutAtDeadline((*summary)(sum))
		return p.yellow("■") + fmt.Sprintf(" ended by its deadline after %s, %s cancelled, %s failed", duration, plural(cut, "item", "items"), number(c.Failed))
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
	parts := []string{number(c.Total), fmt.Sprintf("done %s (%s)", number(c.Done), exactPercent(c.Done, c.Total)), failed, "cancelled " + number(c.Cancelled)}
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
func (s *session) nextSteps(sum *report.Summary, j *job) (next []string) {
	program, data := s.env.Program, s.dataFlag()
	if sum.State == weir.BulkStopped.String() {
		next = append(next, fmt.Sprintf("%s run --resume %s%s   (continues with the %s left)", program, j.ID, data, number(sum.Counts.Pending())))
		if len(endpointsOf(j.Chain)) > 0 {
			next = append(next, "if a URL is wrong: "+correction(j.Chain))
		}
	} else if len(sum.Retries) > 0 {
		next = append(next, "failed items were retried by "+strings.Join(sum.Retries, ", "))
	} else if sum.Counts.Failed > 0 {
		next = append(next, fmt.Sprintf("%s retry %s%s   (retries only the %s)", program, j.ID, data, number(sum.Counts.Failed)))
	}
	if cut := cutAtDeadline((*summary)(sum)); cut > 0 && len(sum.Retries) == 0 {
		next = append(next, fmt.Sprintf("%s retry %s --state cancelled%s   (runs the %s that its deadline cancelled)", program, j.ID, data, number(cut)))
	}
	if j.Report == "" {
		next = append(next, fmt.Sprintf("%s report %s -d out/%s   (writes a row per item)", program, j.ID, data))
	}
	return next
}
