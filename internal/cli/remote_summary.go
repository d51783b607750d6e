package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/report"
)

// conclude prints what became of a bulk action, and returns what carries the exit code.
func (f *follower) conclude(ctx context.Context) error {
	if f.now.State == api.Awaiting {
		f.say("the canary has ended; the remaining items wait for approval: %s approve %s%s", f.env.Program, f.id, f.flag)
		return ended(exitStopped)
	}
	if f.now.State == api.Failed {
		return &failure{exitOther, fmt.Sprintf("%s cannot continue: %s", f.id, f.now.Reason), "fix the cause, then create it again"}
	}
	r, err := f.Report(ctx, f.id)
	if err != nil {
		return err
	}
	f.screen.print(f.summary(&r)...)
	switch {
	case r.State == api.Stopped:
		return ended(exitStopped)
	case r.Counts.Done != r.Counts.Total:
		return ended(exitSomeFailed)
	}
	return nil
}

// summary returns the lines to print at the end, in the format of weir run.
func (f *follower) summary(r *api.Report) []string {
	p, sum := f.screen.paint, summaryOf(r)
	var fc forecast
	if r.Forecast != nil {
		fc.p50 = time.Duration(r.Forecast.P50)
	}
	took := time.Duration(r.Duration)
	return sum.lines(p, headline(p, (*report.Summary)(sum), span(took)+fc.compare((*report.Summary)(sum), took)), "", nil, f.nextSteps(r))
}

// nextSteps are the commands that make sense now.
func (f *follower) nextSteps(r *api.Report) (next []string) {
	program := f.env.Program
	switch left := r.Counts.Ready + r.Counts.Waiting + r.Counts.InFlight; {
	case r.State == api.Stopped:
		next = append(next, fmt.Sprintf("%s resume %s%s   (continues with the %s left)", program, r.ID, f.flag, number(left)))
	case r.Counts.Failed > 0:
		next = append(next, fmt.Sprintf("%s retry %s%s   (retries only the %s)", program, r.ID, f.flag, number(r.Counts.Failed)))
	}
	if cut := cutAtDeadline(summaryOf(r)); cut > 0 {
		next = append(next, fmt.Sprintf("%s retry %s --state cancelled%s   (runs the %s that its deadline cancelled)", program, r.ID, f.flag, number(cut)))
	}
	return append(next, fmt.Sprintf("%s report %s -d out/%s   (writes a row per item)", program, r.ID, f.flag))
}

// summaryOf is a report in the words that the summary of a run is written in.
func summaryOf(r *api.Report) *summary {
	c := r.Counts
	s := &report.Summary{
		ID: r.ID, Name: r.Name, State: string(r.State), Reason: r.Reason, Outcome: r.Outcome, Duplicates: r.Duplicates, Losses: lossesOf(r.Losses),
		Counts: weir.Counts(c),
	}
	if r.State == api.Stopped {
		s.State = weir.BulkStopped.String()
	}
	for _, x := range r.Steps {
		s.Steps = append(s.Steps, report.Step{
			Name: x.Step, Action: x.Action, Done: x.Done, Failed: x.Failed, Attempts: x.Attempts, Calls: x.Calls, Cancelled: x.Cancelled, Skipped: x.Skipped, Refused: x.Refused, Rate: x.Rate,
			Latency: report.Latency{P50: report.Duration(x.P50), P95: report.Duration(x.P95), P99: report.Duration(x.P99), Max: report.Duration(x.P99)},
		})
	}
	for _, w := range r.Waited {
		s.Waited = append(s.Waited, report.Wait{Reason: w.Reason, Share: w.Share})
	}
	for _, g := range r.Errors {
		s.Errors = append(s.Errors, report.Group{Step: g.Step, Code: g.Code, Count: g.Count})
	}
	return (*summary)(s)
}
