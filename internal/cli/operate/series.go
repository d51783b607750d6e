package operate

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/term"
)

const seriesLong = `Shows how rates, limits, workers and failures changed: of all resources together, of one, or of a bulk action.

Each line is drawn from the start to now. A dot is a time at which nothing was measured: no node ran, for example. The
counts of items and calls are per second; -o json has the counts of every step.`

func seriesCommand() command.Command {
	return command.Command{
		Use: "series [ID]", Short: "show rates, limits, workers and failures over time", Long: seriesLong,
		Example: `  weir series
  weir series --span day --resource send-message
  weir series ba_01k9x… -o json`,
		Args: command.Args(0, 1, "at most one ID of a bulk action"),
		Bind: func(fs *pflag.FlagSet) command.Runner {
			span := fs.String("span", "hour", "hour or day: the `SPAN` to show, without an ID")
			resource := fs.String("resource", "", "only the resource of this `NAME`, without an ID")
			return link.Online(fs, func(ctx context.Context, l *link.Link, args []string) error {
				if len(args) == 0 {
					s, err := l.Series(ctx, *span, *resource)
					if err != nil {
						return err
					}
					return showSeries(l, s, &s.Timeline, fleetLines(&s))
				}
				if fs.Changed("span") || fs.Changed("resource") {
					return command.BadUsage("leave them out", "--span and --resource do not go together with the ID of a bulk action")
				}
				s, err := l.BulkSeries(ctx, args[0])
				if err != nil {
					return err
				}
				return showSeries(l, s, &s.Timeline, bulkLines(&s))
			})
		},
	}
}

// line is one measure of a time series.
type line struct {
	Measure string   `json:"measure"`
	Line    string   `json:"line"`
	Newest  *float64 `json:"newest"`
	Most    *float64 `json:"most"`
}

// lineWide is the number of characters of a drawn line.
const lineWide = 60

func lineOf(name string, c api.Column) line {
	values := make([]float64, len(c))
	x := line{Measure: name}
	for i, v := range c {
		values[i] = math.NaN()
		if v == nil {
			continue
		}
		values[i], x.Newest = *v, v
		if x.Most == nil || *v > *x.Most {
			x.Most = v
		}
	}
	if x.Most != nil {
		x.Line = term.Spark(values, lineWide, *x.Most)
	}
	return x
}

func fleetLines(s *api.Series) []line {
	return []line{
		lineOf("done/s", s.PerSecond(s.Done)), lineOf("failed/s", s.PerSecond(s.Failed)),
		lineOf("retries/s", s.PerSecond(s.Retries)), lineOf("refused/s", s.PerSecond(s.Refused)),
		lineOf("calls/s", s.PerSecond(s.Calls)), lineOf("allowed/s", s.AllowedRate),
		lineOf("in flight", s.InFlight), lineOf("allowed in flight", s.AllowedInFlight),
		lineOf("workers", s.Workers), lineOf("needed workers", s.NeededWorkers),
		lineOf("ready", s.Ready), lineOf("oldest ready (s)", s.OldestReady),
	}
}

func bulkLines(s *api.BulkSeries) []line {
	return []line{
		lineOf("done/s", s.PerSecond(s.Done)), lineOf("failed/s", s.PerSecond(s.Failed)),
		lineOf("cancelled/s", s.PerSecond(s.Cancelled)), lineOf("retries/s", s.PerSecond(s.Retries)),
		lineOf("refused/s", s.PerSecond(s.Refused)), lineOf("calls/s", s.PerSecond(s.Calls)),
		lineOf("allowed/s", s.AllowedRate), lineOf("in flight", s.InFlight),
	}
}

// showSeries prints a time series: as it is for programs, and drawn for people.
func showSeries[T any](l *link.Link, s T, t *api.Timeline, lines []line) error {
	if l.Out == command.JSON || l.Out == command.NDJSON {
		return command.One(l.Printer, command.View[T]{}, s)
	}
	if t.Points == 0 {
		l.Say("it has not started: there is nothing to show")
		return nil
	}
	if l.Out == command.Table {
		if _, err := fmt.Fprintf(l.Env.Stdout, "  %s to %s, in %s of %s\n\n", term.ClockTime(t.Start), term.ClockTime(t.End),
			term.Plural(int64(t.Points), "step", "steps"), term.Span(time.Duration(t.Step))); err != nil {
			return err
		}
	}
	return command.List(l.Printer, command.NewView("measures", "measure", "measure, line, newest, most", "", command.Texts[line]{
		"newest": func(x *line) any { return term.Figure(x.Newest) },
		"most":   func(x *line) any { return term.Figure(x.Most) },
	}), command.Seq(lines), 0)
}
