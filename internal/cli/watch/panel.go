package watch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/core/fault"
	"github.com/weirhq/weir/internal/core/partition"
)

// Track is one bulk action that is being watched.
type Track struct {
	ID    string // empty until open has returned it
	Open  func(context.Context) (string, error)
	Label string
	Steps []weir.Step
	state api.State // empty until something was heard of it
	Now   api.Progress
	Since time.Time // errors before it are of an earlier process
	// Started and Finished are known of one that has ended, if there are several.
	Started, Finished time.Time
	// Deadline cancels the remaining items; zero without one.
	Deadline time.Time
	speed    []partition.Lately // by step
	told     map[string]bool    // kinds of errors
}

// find waits until the bulk action is there.
func (t *Track) find(ctx context.Context) (err error) {
	if t.ID == "" {
		t.ID, err = t.Open(ctx)
	}
	return err
}

// note takes newer progress, received at a time.
func (t *Track) note(at time.Time, p api.Progress) {
	t.Now = p
	if t.speed == nil {
		t.speed = make([]partition.Lately, len(p.Steps))
	}
	for i := range p.Steps {
		t.speed[i].Note(at.UnixNano(), passed(p.Steps[i]))
	}
}

// passed returns how many items have ended at a step.
func passed(s api.StepProgress) int64 { return s.Done + s.Failed + s.LeftOut }

// Total returns how many items the tracks have, and how many of them have ended.
func Total(tracks []*Track) (c weir.Counts) {
	for _, t := range tracks {
		n := t.Now.Counts
		c.Total += n.Total
		c.Done += n.Done
		c.Failed += n.Failed
		c.Cancelled += n.Cancelled
		c.Ready += n.Ready
		c.Waiting += n.Waiting
		c.InFlight += n.InFlight
	}
	return c
}

// panel draws what is going on: a line per step of one bulk action, or a line
// per bulk action of several.
func panel(p term.Paint, wide int, tracks []*Track, elapsed time.Duration, help string) []string {
	lines := []string{""}
	if len(tracks) == 1 {
		lines = append(lines, tracks[0].stepLines(p, wide)...)
	} else {
		lines = append(lines, bulkLines(p, wide, tracks)...)
	}
	lines = append(lines, countLine(p, wide, tracks, elapsed))
	if e := lastError(tracks); e != nil {
		lines = append(lines, term.Fit("  "+p.Red("last error")+"  "+errorLine(e), wide))
	}
	return append(lines, waitLine(p, wide, tracks, help))
}

// lastError returns the newest error of the tracks whose calls fail now, or nil.
func lastError(tracks []*Track) (last *api.LastError) {
	for _, t := range tracks {
		if e := t.Now.LastError; e != nil && e.Failing && !e.Last.Before(t.Since) && !t.Now.State.Final() &&
			(last == nil || e.Last.After(last.Last)) {
			last = e
		}
	}
	return last
}

// errorLine puts an error into one line.
func errorLine(e *api.LastError) string {
	return term.Tame(e.Step + ": " + (*weir.LastError)(e).String())
}

func (t *Track) stepLines(p term.Paint, wide int) (lines []string) {
	names := 0
	for _, s := range t.Steps {
		names = max(names, term.Width(term.Tame(s.Name)))
	}
	left := t.Now.Counts.Total
	counts := countWidth(left)
	for i, s := range t.Steps {
		var n api.StepProgress
		if i < len(t.Now.Steps) {
			n = t.Now.Steps[i]
		}
		pace := ""
		if i < len(t.speed) {
			pace = term.PerSecond(t.speed[i].Rate)
			if s.Resource.Rate > 0 {
				pace += " of " + strings.TrimSuffix(term.PerSecond(float64(s.Resource.Rate)), "/s")
			}
		}
		lines = append(lines, bar(p, wide, term.Pad(term.Tame(s.Name), names), passed(n), left, counts, pace))
		left -= n.Failed + n.LeftOut // they go no further
	}
	return lines
}

func bulkLines(p term.Paint, wide int, tracks []*Track) (lines []string) {
	names, counts := 0, 0
	for _, t := range tracks {
		names = max(names, term.Width(term.Tame(t.Label)))
		counts = max(counts, countWidth(t.Now.Counts.Total))
	}
	for _, t := range tracks {
		c, last := weir.Counts(t.Now.Counts), len(t.speed)-1
		pace := ""
		if last >= 0 {
			pace = term.PerSecond(t.speed[last].Rate)
		}
		if t.Now.State.Final() {
			pace = endMark(p, c) + " in " + term.Span(t.Finished.Sub(t.Started))
		}
		lines = append(lines, bar(p, wide, term.Pad(term.Tame(t.Label), names), c.Ended(), c.Total, counts, pace))
	}
	return lines
}

// endMark says whether all, some or no items were done.
func endMark(p term.Paint, c weir.Counts) string {
	switch {
	case c.Failed == 0 && c.Cancelled == 0:
		return p.Green("✓")
	case c.Done == 0:
		return p.Red("✗")
	}
	return p.Yellow("!")
}

// countWidth is the room for how many of so many items.
func countWidth(all int64) int { return 2*len(term.Number(all)) + 1 }

// bar draws one line. What does not fit makes the bar shorter first.
func bar(p term.Paint, wide int, name string, done, all int64, room int, pace string) string {
	counts := term.PadLeft(term.Number(done)+"/"+term.Number(all), room)
	size := min(24, wide-term.Width(name)-term.Width(counts)-term.Width(pace)-16)
	if size < 5 {
		return fmt.Sprintf("  %s %s %s", p.Bold(name), term.Percent(done, all), counts)
	}
	full := 0
	if all > 0 {
		full = int(int64(size) * done / all)
	}
	drawn := p.Cyan(strings.Repeat("█", full)) + p.Dim(strings.Repeat("░", size-full))
	if all > 0 && done == all {
		drawn = p.Green(strings.Repeat("█", size))
	}
	return fmt.Sprintf("  %s  %s %s   %s  %s", p.Bold(name), drawn, term.PadLeft(term.Percent(done, all), 4), counts, pace)
}

// countLine omits the least important counts if they do not all fit.
func countLine(p term.Paint, wide int, tracks []*Track, elapsed time.Duration) string {
	c := Total(tracks)
	failed := "failed " + term.Number(c.Failed)
	if c.Failed > 0 {
		failed = p.Red(failed)
	}
	parts := []string{failed, "waiting " + term.Number(c.Waiting), "in flight " + term.Number(c.InFlight), "elapsed " +
		term.Clock(elapsed)}
	left, around := remaining(tracks)
	if left != "" {
		parts = append(parts, left+around)
	}
	if due := deadline(tracks); due != "" {
		parts = append(parts, due)
	}
	line := "  " + strings.Join(parts, " · ")
	if term.Width(line) > wide {
		line = "  " + strings.Join(slices.Delete(parts, 1, 3), " · ")
	}
	if term.Width(line) > wide {
		line = strings.Replace(line, around, "", 1)
	}
	return line
}

// remaining says the longest estimate, because all of it has to end, and what is around it if that is uncertain. It is
// empty if nothing is known.
func remaining(tracks []*Track) (text, around string) {
	var last api.Progress
	for _, t := range tracks {
		if t.Now.ETA > last.ETA {
			last = t.Now
		}
	}
	if last.ETA == 0 {
		return "", ""
	}
	left := time.Duration(last.ETA)
	if !last.LikelyEndTo.IsZero() {
		around = fmt.Sprintf(" (%s to %s)", term.Span(left+last.LikelyEndFrom.Sub(last.LikelyEnd)), term.Span(left+last.LikelyEndTo.Sub(last.LikelyEnd)))
	}
	return "ETA " + term.Span(left), around
}

// deadline returns the next deadline of the tracks that have not ended, or an empty text.
func deadline(tracks []*Track) string {
	var next time.Time
	for _, t := range tracks {
		if d := t.Deadline; !d.IsZero() && !t.Now.State.Final() && (next.IsZero() || d.Before(next)) {
			next = d
		}
	}
	if next.IsZero() {
		return ""
	}
	return "deadline " + command.People(next)
}

// tooLate is said of a bulk action that waits on something, and for too long.
const tooLate = "too late for its deadline"

// causesText tells the worst cause, and whether the bulk action will miss its deadline; empty without a cause.
func causesText(all []api.Cause) string {
	if len(all) == 0 {
		return ""
	}
	text := causeText(all[0])
	if slices.ContainsFunc(all[1:], func(c api.Cause) bool { return c.Reason == "late" }) {
		text += "; " + tooLate
	}
	return text
}

func waitLine(p term.Paint, wide int, tracks []*Track, help string) string {
	line := "  waiting on  " + cmp.Or(firstCause(tracks), "nothing")
	if term.Width(line)+3+term.Width(help) > wide { // the keys are known by then
		return term.Fit(line, wide)
	}
	return line + term.PadLeft(p.Dim(help), max(3+term.Width(help), min(wide, 90)-term.Width(line)))
}

// firstCause says what holds up the first track that waits; empty: none does.
func firstCause(tracks []*Track) string {
	for _, t := range tracks {
		if !t.Now.State.Final() && len(t.Now.WaitingOn) > 0 {
			return term.Tame(causesText(t.Now.WaitingOn))
		}
	}
	return ""
}

// plainLine is the panel without a terminal.
func plainLine(tracks []*Track, elapsed time.Duration) string {
	c := Total(tracks)
	line := fmt.Sprintf("  %s  %s of %s (%s) · failed %s · ready %s · waiting %s · in flight %s", term.Clock(elapsed),
		term.Number(c.Ended()), term.Number(c.Total),
		term.Percent(c.Ended(), c.Total), term.Number(c.Failed), term.Number(c.Ready), term.Number(c.Waiting), term.Number(c.InFlight))
	if left, around := remaining(tracks); left != "" {
		line += " · " + left + around
	}
	if due := deadline(tracks); due != "" {
		line += " · " + due
	}
	if e := lastError(tracks); e != nil {
		return line + " · last error: " + errorLine(e)
	}
	if on := firstCause(tracks); on != "" && c.InFlight == 0 { // nothing else shows why it stands still
		line += " · waiting on " + on
	}
	return line
}

// newError returns a line for an error that was not shown yet, or an empty text.
func newError(tracks []*Track) string {
	e := lastError(tracks)
	if e == nil {
		return ""
	}
	for _, t := range tracks {
		if t.Now.LastError == e {
			return t.tell(e)
		}
	}
	return ""
}

// tell is a line for an error of another kind than those before.
func (t *Track) tell(e *api.LastError) string {
	kind := e.Step + "\x00" + e.Code + "\x00" + string(fault.AppendNormal(nil, e.Message))
	if t.told[kind] || len(t.told) >= mostTold {
		return ""
	}
	if t.told == nil {
		t.told = map[string]bool{}
	}
	t.told[kind] = true
	return "  calls fail: " + errorLine(e)
}

// mostTold bounds the lines about errors.
const mostTold = 20
