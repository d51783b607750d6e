package simulate

import (
	"context"
	"fmt"
	"io"

	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/lab/model"
)

// both plays a system as it is and as it would be, and prints them side by side.
func (o *simulateOptions) both(ctx context.Context, env *command.Env, given, changed model.World, what []string) error {
	before, err := interruptible(ctx, func() (model.Result, error) { return model.Run(given) })
	if err != nil {
		return err
	}
	after, err := interruptible(ctx, func() (model.Result, error) { return model.Run(changed) })
	if err != nil {
		return err
	}
	switch o.output {
	case "json":
		return command.PrintJSON(env, map[string]model.Result{"as_it_is": before, "changed": after})
	case "csv":
		return writeSeries(env.Stdout, labelled{"as_it_is", before}, labelled{"changed", after})
	}
	w := env.Stdout
	printHead(w, given, what)
	fmt.Fprintln(w)
	t := term.NewTable("  \tAS IT IS\tCHANGED\t")
	compareBulkActions(t, before, after)
	for i := range before.Resources {
		compareResource(t, before.Resources[i], after.Resources[i])
	}
	printTable(w, t)
	for i := range before.Resources {
		compareSeries(w, &before.Resources[i], &after.Resources[i])
	}
	return nil
}

func compareBulkActions(t *term.Table, before, after model.Result) {
	row := func(what string, a, b model.Span, ended bool) {
		change := ""
		if ended && a > 0 {
			change = changeText(float64(a), float64(b))
		}
		t.Row("  %s\t%s\t%s\t%s", what, spanOf(a), spanOf(b), change)
	}
	if before.Finished && after.Finished {
		row("all done after", before.End, after.End, true)
	} else {
		t.Row("  all done\t%s\t%s\t", endWord(before), endWord(after))
	}
	for i, k := range before.Kinds {
		l := after.Kinds[i]
		switch {
		case k.Open == k.Count || l.Open == l.Count:
			t.Row("  %s done\t%s\t%s\t", k.Name, doneText(k), doneText(l))
		case k.Count == 1 && l.Count == 1:
			row(k.Name+" takes", k.TookP50, l.TookP50, true)
		default:
			row(k.Name+": half done in", k.TookP50, l.TookP50, true)
			row(k.Name+": 99% done in", k.TookP99, l.TookP99, true)
		}
		if k.Failed+l.Failed > 0 {
			t.Row("  %s: items failed\t%s\t%s\t", k.Name, term.Number(k.Failed), term.Number(l.Failed))
		}
		t.Row("  %s waits for\t%s\t%s\t", k.Name, waitWords(k.Waited, len(before.Resources)), waitWords(l.Waited, len(before.Resources)))
	}
}

func endWord(r model.Result) string {
	if r.Finished {
		return "after " + spanOf(r.End)
	}
	return "not within " + spanOf(r.End)
}

func compareResource(t *term.Table, a, b model.ResourceResult) {
	if limitText(a) != limitText(b) {
		t.Row("  %s: limit\t%s\t%s\t", a.Name, limitText(a), limitText(b))
	}
	if a.Rate+b.Rate > 0 {
		t.Row("  %s: limit used\t%s\t%s\t", a.Name, useText(a), useText(b))
	}
	t.Row("  %s: calls\t%s\t%s\t%s", a.Name, term.Number(a.Calls), term.Number(b.Calls),
		changeText(float64(a.Calls), float64(b.Calls)))
	t.Row("  %s: workers\t%s\t%s\t", a.Name, workersText(a), workersText(b))
	t.Row("  %s: worker hours\t%.2f\t%.2f\t%s", a.Name, hours(a), hours(b), changeText(hours(a), hours(b)))
	if a.Refused+b.Refused+a.Failed+b.Failed > 0 {
		t.Row("  %s: sent in vain\t%s\t%s\t", a.Name, term.Number(a.Failed+a.Refused), term.Number(b.Failed+b.Refused))
	}
}

func hours(x model.ResourceResult) float64 { return float64(x.WorkerSeconds) / 3600 }

// changeText writes a change as people do: -33%, twice as much as 2.0x.
func changeText(a, b float64) string {
	switch r := b / a; {
	case a == 0:
		return ""
	case r >= 0.995 && r <= 1.005:
		return "the same"
	case r < 2:
		return fmt.Sprintf("%+.0f%%", (r-1)*100)
	default:
		return timesText(r)
	}
}

// compareSeries draws the workers of both over the same time and to the same height.
func compareSeries(w io.Writer, a, b *model.ResourceResult) {
	long := max(len(a.Seconds), len(b.Seconds))
	fmt.Fprintf(w, "  workers of %s\n", a.Name)
	most := float64(max(a.WorkersPeak, b.WorkersPeak))
	for _, x := range []struct {
		label string
		of    *model.ResourceResult
	}{{"as it is", a}, {"changed", b}} {
		values := make([]float64, long)
		for i, s := range x.of.Seconds {
			values[i] = float64(s.Workers)
		}
		fmt.Fprintf(w, "    %s  %s  up to %s\n", term.Pad(x.label, 8), term.Spark(values, sparkWide, most), term.Number(x.of.WorkersPeak))
	}
	fmt.Fprintln(w)
}
