package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/config"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/report"
)

func reportCommand() command {
	return command{
		use: "report ID", short: "write the report of a bulk action",
		long: "Writes a summary and, in a folder, one row per item. " + elsewhere, args: bulkID,
		bind: func(fs *pflag.FlagSet) runner {
			var to results
			fs.StringVarP(&to.Report, "dir", "d", "", "`DIR` for the report (default: print report.json to stdout)")
			fs.Var(&to.Format, "report-format", "csv or ndjson (default csv)")
			at := &target{}
			at.bind(fs)
			return func(ctx context.Context, env *Env, args []string) error {
				return at.ask(ctx, env, outTable, func(ctx context.Context, l *link) error { return l.report(ctx, args[0], to) })
			}
		},
	}
}

// report writes the report of a bulk action as of now.
func (l *link) report(ctx context.Context, id string, to results) error {
	rep, err := l.Report(ctx, id)
	if err != nil {
		return err
	}
	if to.Report == "" {
		to.SummaryJSON = "-"
	} else if err := probe(l.env.path(to.Report)); err != nil {
		return badUsage("choose another folder with -d", "-d: %v", err)
	}
	sum := summaryOf(&rep)
	if l.local != nil {
		if r, err := l.local.runs.get(id); err == nil {
			sum.Duplicates, sum.Invalid = r.Duplicates, r.Invalid
		}
	}
	files, err := l.write(ctx, sum, to)
	for _, f := range files {
		fmt.Fprintln(l.env.Stdout, f)
	}
	return err
}

// write writes the folder and the summary file that are asked for, and lists what was written.
func (l *link) write(ctx context.Context, sum *report.Summary, to results) (files []string, err error) {
	if to.Report != "" {
		if err := l.writeFolder(ctx, sum, to); err != nil {
			return nil, err
		}
		files = written(l.env, to.Report, to.Format)
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
		_, err := l.env.Stdout.Write(raw)
		return files, err
	}
	return append(files, to.SummaryJSON), replaceFile(l.env.path(to.SummaryJSON), raw)
}

func (l *link) writeFolder(ctx context.Context, sum *report.Summary, to results) error {
	w, err := report.NewWriter(l.env.path(to.Report), report.Format(to.Format), report.Options{})
	if err != nil {
		return err
	}
	if l.local != nil {
		err = l.local.runs.list(sum.ID, w)
	}
	for row, bad := range l.rows(ctx, sum.ID) {
		if err == nil {
			err = bad
		}
		if err == nil {
			err = w.Write(row)
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		_ = w.Abort() // the first error tells more
		return err
	}
	return w.Close(*sum)
}

// rows yields every item of a bulk action: from the store of this process, or as a server sends them.
func (l *link) rows(ctx context.Context, id string) iter.Seq2[report.Row, error] {
	return func(yield func(report.Row, error) bool) {
		if l.local != nil {
			b, err := l.local.node.Service().Bulks.Bulk(ctx, id)
			if err != nil {
				yield(report.Row{}, err)
				return
			}
			b.Rows(ctx, engine.RowOptions{})(yield)
			return
		}
		body, err := l.Results(ctx, id, "all", "ndjson")
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
			row := report.Row{ID: x.ID, State: x.State, Step: x.Step, Code: x.Code, Message: x.Message, Reason: x.Reason,
				Attempts: x.Attempts, Data: x.Data, Output: x.Output}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// written lists the files of a report.
func written(env *Env, dir string, format config.ReportFormat) (files []string) {
	if format == "" {
		format = "csv"
	}
	for _, kind := range []string{"done", "failed", "cancelled", "pending", "duplicates", "invalid"} {
		name := filepath.ToSlash(filepath.Join(dir, kind+"."+string(format)))
		if _, err := os.Stat(env.path(name)); err == nil {
			files = append(files, name)
		}
	}
	return append(files, filepath.ToSlash(filepath.Join(dir, "report.json")))
}
