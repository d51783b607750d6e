package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/report"
)

// running is one bulk action under way, with what is known about it.
type running struct {
	job      *job
	bulk     *engine.BulkAction
	steps    []weir.Step
	forecast forecast
	over     bool // it had ended before this process began
	resumed  *resumption
}

// resumption records the state of a bulk action when this process resumed it.
type resumption struct {
	at    time.Time
	steps []weir.StepCounts
}

// only makes the rates of a summary those since the resumption, and returns how long ago that is.
func (r *resumption) only(sum *report.Summary) time.Duration {
	end := time.Now()
	if sum.FinishedAt != nil {
		end = *sum.FinishedAt
	}
	took := end.Sub(r.at)
	for i := range min(len(sum.Steps), len(r.steps)) {
		sum.Steps[i].Rate = 0
		if took > 0 {
			sum.Steps[i].Rate = float64(int64(sum.Steps[i].Done)-r.steps[i].Done) / took.Seconds()
		}
	}
	return took
}

// finish watches bulk actions to their end, writes their reports, prints the
// summaries, and closes the session. What it returns carries the exit code.
func (s *session) finish(ctx context.Context, scr *screen, limit time.Duration, all []*running) error {
	w := &watcher{
		screen: scr, limit: limit, started: time.Now(),
		session: stopper{stop: s.stop, broken: s.broken, signals: s.env.Signals},
	}
	for _, r := range all {
		p, err := r.bulk.Now(ctx)
		if err != nil {
			return errors.Join(err, s.close())
		}
		open := func(context.Context) (*engine.BulkAction, error) { return r.bulk, nil }
		w.tracks = append(w.tracks, &track{label: r.job.Name, steps: r.steps, open: open, now: p, since: s.began, deadline: r.bulk.Info().Deadline})
	}
	w.left = (&etas{engine: s.engine, tracks: w.tracks, told: map[*track]eta{}}).left
	why, err := w.watch(ctx)
	if err != nil {
		return err
	}
	switch why {
	case allEnded:
	case aborted:
		s.sayResume(scr, all, "aborted; tasks in flight run again")
		return ended(exitInterrupted)
	case drained, timedOut:
		return s.interrupted(scr, all, why)
	}
	if !w.settled() {
		return errors.Join(other(errors.New("the engine stopped before the run had ended"), "continue with --resume"), s.close())
	}
	if err := s.end(); err != nil { // running calls have ended: the report is complete
		return errors.Join(err, s.close())
	}
	ctx, cancel := s.env.untilSignal(ctx)
	defer cancel()
	code, took := exitOK, time.Since(w.started)
	for _, r := range all {
		c, err := s.conclude(ctx, scr, r, took)
		if err != nil {
			return errors.Join(err, s.close())
		}
		code = max(code, c)
	}
	return errors.Join(ended(code), s.close())
}

// interrupted ends a session that was told to stop. The bulk actions may have ended all the same.
func (s *session) interrupted(scr *screen, all []*running, why end) error {
	if err := s.close(); err != nil {
		return err
	}
	s.sayResume(scr, all, "stopped; all results are saved")
	code := exitInterrupted
	if why == timedOut {
		code = exitTimeout
	}
	return ended(code)
}

func (s *session) sayResume(scr *screen, all []*running, what string) {
	scr.print("", "  "+scr.paint.yellow("‖")+" "+what)
	for _, r := range all {
		scr.print(fmt.Sprintf("    resume         %s run --resume %s%s", s.env.Program, r.job.ID, s.dataFlag()))
	}
}

// conclude writes the report of a bulk action that has settled, and prints its summary.
func (s *session) conclude(ctx context.Context, scr *screen, r *running, took time.Duration) (code int, err error) {
	rep, err := r.bulk.Report(ctx)
	if err != nil {
		return 0, s.unwritten(ctx, err, r.job)
	}
	if rep.FinishedAt != nil { // it may have begun before it was watched
		took = time.Duration(rep.Duration)
	}
	if err := r.job.complete(ctx, r.bulk, &rep.Summary); err != nil {
		return 0, s.unwritten(ctx, err, r.job)
	}
	files, err := s.writeReport(ctx, rep, r.job)
	if err != nil {
		return 0, err
	}
	scr.print(summaryLines(scr.paint, s, r, &rep.Summary, files, took)...)
	switch {
	case rep.State == weir.BulkStopped.String():
		return exitStopped, nil
	case rep.Counts.Done != rep.Counts.Total:
		return exitSomeFailed, nil
	}
	return exitOK, nil
}

// complete adds what the summary of a bulk action does not have by itself: what only the job knows, and the retries.
func (j *job) complete(ctx context.Context, ba *engine.BulkAction, s *report.Summary) error {
	s.Name, s.Duplicates, s.Invalid = j.Name, j.Duplicates, j.Invalid
	retries, err := ba.Retries(ctx)
	for _, x := range retries {
		s.Retries = append(s.Retries, string(x.ID()))
	}
	return err
}

// writeReport writes the folder and the summary file that a job asked for, and lists what was written.
func (s *session) writeReport(ctx context.Context, rep *engine.Report, j *job) (files []string, err error) {
	if j.Report != "" {
		if err := s.writeFolder(ctx, rep, j); err != nil {
			return nil, s.unwritten(ctx, err, j)
		}
		files = s.written(j)
	}
	if j.SummaryJSON != "" {
		if err := s.writeSummary(rep, j); err != nil {
			return nil, s.unwritten(ctx, err, j)
		}
		if j.SummaryJSON != "-" {
			files = append(files, j.SummaryJSON)
		}
	}
	return files, nil
}

// unwritten says that the run has not suffered from a report that could not be written.
func (s *session) unwritten(ctx context.Context, err error, j *job) error {
	f := &failure{exitOther, err.Error(), "the run is safe: write its report with " + s.env.Program + " report " + string(j.ID) + " -d DIR" + s.dataFlag()}
	if ctx.Err() != nil {
		f.code, f.what = exitInterrupted, "interrupted while the report was being written"
	}
	return f
}

func (s *session) writeSummary(rep *engine.Report, j *job) error {
	raw, err := json.MarshalIndent(rep.Summary, "", "  ")
	if err != nil {
		return err
	}
	raw = append(raw, '\n')
	if j.SummaryJSON == "-" {
		_, err := s.env.Stdout.Write(raw)
		return err
	}
	return replaceFile(s.env.path(j.SummaryJSON), raw)
}

func (s *session) writeFolder(ctx context.Context, rep *engine.Report, j *job) error {
	w, err := report.NewWriter(s.env.path(j.Report), report.Format(j.ReportFormat), report.Options{})
	if err != nil {
		return err
	}
	if err := s.jobs.listRows(j.Key, w); err != nil {
		return errors.Join(err, w.Abort())
	}
	if err := rep.WriteFiles(ctx, w); err != nil {
		_ = w.Abort() // the first error tells more
		return err
	}
	return nil
}

// written lists the files of a report.
func (s *session) written(j *job) (files []string) {
	format := string(j.ReportFormat)
	if format == "" {
		format = "csv"
	}
	for _, kind := range []string{"done", "failed", "cancelled", "pending", "duplicates", "invalid"} {
		name := shown(j.Report, kind+"."+format)
		if _, err := os.Stat(s.env.path(name)); err == nil {
			files = append(files, name)
		}
	}
	return append(files, shown(j.Report, "report.json"))
}
