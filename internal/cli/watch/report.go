package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/local"
	"github.com/weirhq/weir/internal/core/fault"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/report"
)

// WriteReportOf writes the report of a bulk action as of now.
func WriteReportOf(ctx context.Context, l *link.Link, id string, to local.Results) error {
	rep, err := l.Report(ctx, id)
	if err != nil {
		return err
	}
	if to.Report == "" {
		to.SummaryJSON = "-"
	} else if err := command.Probe(l.Env.Path(to.Report)); err != nil {
		return command.BadUsage("choose another folder with -d", "-d: %v", err)
	}
	sum := summaryOf(&rep)
	if l.Local != nil {
		if r, err := l.Local.Runs.Get(id); err == nil {
			sum.Duplicates, sum.Invalid = r.Duplicates, r.Invalid
		}
	}
	files, err := writeResults(ctx, l, sum, to)
	for _, f := range files {
		fmt.Fprintln(l.Env.Stdout, f)
	}
	return err
}

// writeResults writes the folder and the summary file that are asked for, and lists what was written.
func writeResults(ctx context.Context, l *link.Link, sum *report.Summary, to local.Results) (files []string, err error) {
	if to.Report != "" {
		if err := writeFolder(ctx, l, sum, to); err != nil {
			return nil, err
		}
		files = written(l.Env, to.Report, to.Format)
	}
	if to.SummaryJSON == "" {
		return files, nil
	}
	raw, err := json.MarshalIndent(sum, "", "  ")
	if err != nil {
		return nil, err
	}
	raw = append(raw, '\n')
	if to.SummaryJSON == "-" {
		_, err := l.Env.Stdout.Write(raw)
		return files, err
	}
	return append(files, to.SummaryJSON), command.ReplaceFile(l.Env.Path(to.SummaryJSON), raw)
}

func writeFolder(ctx context.Context, l *link.Link, sum *report.Summary, to local.Results) error {
	w, err := report.NewWriter(l.Env.Path(to.Report), report.Format(to.Format), report.Options{})
	if err != nil {
		return err
	}
	if l.Local != nil {
		err = l.Local.Runs.List(sum.ID, w)
	}
	var counted weir.Counts
	for row, bad := range itemRows(ctx, l, sum) {
		if err == nil {
			err = bad
		}
		if row.State == report.StateFailed && fault.Unclear(row.Code, row.Message) {
			row.Message = strings.TrimPrefix(row.Message+"; the service may have done it", "; ")
		}
		if err == nil {
			err = w.Write(row)
		}
		if err != nil {
			break
		}
		count(&counted, row.State)
	}
	if err != nil {
		_ = w.Abort() // the first error tells more
		return err
	}
	if sum.Combined != nil && sum.Combined.Pending() > 0 {
		sum.Combined = &counted // a retry has gone on since
	}
	return w.Close(*sum)
}

// count adds an item to the counts.
func count(c *weir.Counts, state report.State) {
	c.Total++
	switch state {
	case report.StateDone:
		c.Done++
	case report.StateFailed:
		c.Failed++
	case report.StateCancelled:
		c.Cancelled++
	case report.StateWaiting:
		c.Waiting++
	case report.StateInFlight:
		c.InFlight++
	default:
		c.Ready++
	}
}

// itemRows yields every item of a bulk action as it ended after all retries: as the API sends them or, which is
// faster, from the store of this process if there are no retries.
func itemRows(ctx context.Context, l *link.Link, sum *report.Summary) iter.Seq2[report.Row, error] {
	return func(yield func(report.Row, error) bool) {
		if l.Local != nil && len(sum.Retries) == 0 {
			b, err := l.Local.Service().Bulks.Bulk(ctx, sum.ID)
			if err != nil {
				yield(report.Row{}, err)
				return
			}
			b.Rows(ctx, engine.RowOptions{})(yield)
			return
		}
		body, err := l.Results(ctx, sum.ID, "all", "ndjson")
		if err != nil {
			yield(report.Row{}, err)
			return
		}
		defer body.Close()
		for d := json.NewDecoder(body); ; {
			var x api.ItemResult
			if err := d.Decode(&x); err != nil {
				if !errors.Is(err, io.EOF) {
					yield(report.Row{}, err)
				}
				return
			}
			row := report.Row{ID: x.ID, State: report.State(x.State), Step: x.Step, Code: x.Code, Message: x.Message, Reason: x.Reason,
				Attempts: x.Attempts, Data: x.Data, Output: x.Output}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// written lists the files of a report.
func written(env *command.Env, dir string, format config.ReportFormat) (files []string) {
	if format == "" {
		format = "csv"
	}
	for _, kind := range []string{"done", "failed", "cancelled", "pending", "duplicates", "invalid"} {
		name := filepath.ToSlash(filepath.Join(dir, kind+"."+string(format)))
		if _, err := os.Stat(env.Path(name)); err == nil {
			files = append(files, name)
		}
	}
	return append(files, filepath.ToSlash(filepath.Join(dir, "report.json")))
}
