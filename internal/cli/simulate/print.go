package simulate

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/lab/model"
)

// sparkWide is the number of characters of a spark line.
const sparkWide = 60

// interruptible does something that takes long and cannot be told to stop, until
// ctx ends; then it is left behind.
func interruptible[T any](ctx context.Context, do func() (T, error)) (out T, err error) {
	done := make(chan struct{})
	var got T
	var failed error
	go func() {
		defer close(done)
		got, failed = do()
	}()
	select {
	case <-done:
		return got, failed
	case <-ctx.Done():
		return out, ctx.Err()
	}
}

// single plays one system and prints what came of it.
func (o *simulateOptions) single(ctx context.Context, env *command.Env, w model.World, what []string) error {
	r, err := interruptible(ctx, func() (model.Result, error) { return model.Run(w) })
	if err != nil {
		return err
	}
	switch o.output {
	case "json":
		return command.PrintJSON(env, r)
	case "csv":
		return writeSeries(env.Stdout, labelled{"", r})
	}
	printHead(env.Stdout, w, what)
	fmt.Fprintf(env.Stdout, "\n  %s\n\n", ending(r))
	printBulkActions(env.Stdout, r)
	printResources(env.Stdout, r)
	printFairness(env.Stdout, r)
	for i := range r.Resources {
		printSeries(env.Stdout, &r.Resources[i])
	}
	return nil
}

// foresee plays several seeds and prints when work would be done.
func (o *simulateOptions) foresee(ctx context.Context, env *command.Env, w model.World, what []string) error {
	f, err := interruptible(ctx, func() (model.Forecast, error) { return model.Foresee(w, o.runs) })
	if err != nil {
		return err
	}
	if o.output == "json" {
		return command.PrintJSON(env, f)
	}
	printHead(env.Stdout, w, what)
	fmt.Fprintf(env.Stdout, "\n  of %s, half are done after %s and 90%% after %s\n", term.Plural(int64(f.Runs), "run", "runs"),
		spanOf(f.P50), spanOf(f.P90))
	if f.Unfinished > 0 {
		fmt.Fprintf(env.Stdout, "  %s did not finish within the simulated time\n", term.Plural(int64(f.Unfinished), "run", "runs"))
	}
	fmt.Fprintln(env.Stdout)
	t := term.NewTable("  BULK ACTION\tHALF OF THE RUNS\t90% OF THE RUNS")
	for i, k := range f.Kinds {
		note := ""
		if w.BulkActions[i].Arrivals > 0 {
			note = " (99% of them)"
		}
		t.Row("  %s%s\t%s\t%s", k.Name, note, spanOf(k.P50), spanOf(k.P90))
	}
	printTable(env.Stdout, t)
	return nil
}

// printTable writes a table and an empty line.
func printTable(w io.Writer, t *term.Table) {
	_ = t.Print(w) // a closed stdout has no reader that could be told
	fmt.Fprintln(w)
}

func printHead(w io.Writer, world model.World, what []string) {
	name := cmp.Or(world.Name, "simulation")
	if world.About != "" {
		name += ": " + world.About
	}
	fmt.Fprintln(w, name)
	if len(what) > 0 {
		fmt.Fprintf(w, "what if  %s\n", strings.Join(what, ", "))
	}
}

// ending says when it is over.
func ending(r model.Result) string {
	if r.Finished {
		return "all done after " + spanOf(r.End)
	}
	open := int64(0)
	for _, k := range r.Kinds {
		open += k.Items - k.Done - k.Failed - k.Cancelled
	}
	return fmt.Sprintf("at the end, after %s, %s not finished", spanOf(r.End), term.Plural(open, "item is", "items are"))
}

func printBulkActions(w io.Writer, r model.Result) {
	t := term.NewTable("  BULK ACTION\tITEMS\tFAILED\tDONE\tAGAINST ALONE\tWAITED FOR")
	for _, k := range r.Kinds {
		t.Row("  %s\t%s\t%s\t%s\t%s\t%s", kindName(k), term.Number(k.Items), term.Number(k.Failed), doneText(k), slowText(k),
			waitWords(k.Waited, len(r.Resources)))
	}
	printTable(w, t)
}

func kindName(k model.KindResult) string {
	if k.Count == 1 {
		return k.Name
	}
	return fmt.Sprintf("%s (%s)", k.Name, term.Number(k.Count))
}

// doneText says when one is done, or for a stream how long they take, and what was left at deadlines.
func doneText(k model.KindResult) string {
	text := tookText(k)
	if k.Cancelled > 0 {
		text += fmt.Sprintf(", %s left at the deadline", term.Number(k.Cancelled))
	}
	return text
}

func tookText(k model.KindResult) string {
	switch {
	case k.Count == k.Open:
		return "not yet"
	case k.Count == 1 && k.Each[0].At == 0:
		return "after " + spanOf(k.Finish)
	case k.Count == 1:
		return fmt.Sprintf("at %s, after %s", spanOf(k.Finish), spanOf(k.TookP50))
	}
	text := fmt.Sprintf("half in %s, 99%% in %s", spanOf(k.TookP50), spanOf(k.TookP99))
	if k.Open > 0 {
		text += fmt.Sprintf(", %s not yet", term.Number(k.Open))
	}
	return text
}

// slowText compares with having everything to oneself.
func slowText(k model.KindResult) string {
	switch {
	case k.Count == k.Open:
		return "-"
	case k.Count == 1:
		return timesText(k.SlowdownP50)
	}
	return fmt.Sprintf("half %s, 99%% %s", timesText(k.SlowdownP50), timesText(k.SlowdownP99))
}

// timesText writes a multiple with as many digits as tell something.
func timesText(f float64) string {
	if f < 10 {
		return fmt.Sprintf("%.1fx", f)
	}
	return term.Number(int64(f+0.5)) + "x"
}

// waitWords names what was waited for in the words that people use, and where if
// there is more than one place.
func waitWords(ws []model.Wait, resources int) string {
	words := map[string]string{
		"rate": "rate", "concurrency": "calls at once", "no_workers": "workers", "fair_share": "others' turn",
		"circuit_open": "recovery", "first_call": "the first answer", "retry": "retries",
	}
	var parts []string
	for _, w := range ws {
		if w.Share < 0.01 || len(parts) == 3 {
			continue
		}
		text := cmp.Or(words[w.Reason], w.Reason)
		if w.Own {
			text = "own " + text
		}
		if resources > 1 && w.Reason != "retry" {
			text += " of " + w.Resource
		}
		parts = append(parts, fmt.Sprintf("%s %.0f%%", text, w.Share*100))
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing")
}

func printResources(w io.Writer, r model.Result) {
	t := term.NewTable("  RESOURCE\tLIMIT\tUSED\tBUSIEST SECOND\tITEMS SENT\tCALLS\tFAILED\tREFUSED\tWORKERS")
	for _, x := range r.Resources {
		t.Row("  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", x.Name, limitText(x), useText(x), term.Number(int64(x.Peak+0.5)),
			term.Number(x.Started), term.Number(x.Calls), term.Number(x.Failed), term.Number(x.Refused), workersText(x))
	}
	printTable(w, t)
}

func limitText(x model.ResourceResult) string {
	var parts []string
	if x.Rate > 0 {
		parts = append(parts, term.PerSecond(float64(x.Rate)))
	}
	if x.Concurrency > 0 {
		parts = append(parts, fmt.Sprintf("%s at once", term.Number(x.Concurrency)))
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

func useText(x model.ResourceResult) string {
	if x.Rate == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", x.Use*100)
}

func workersText(x model.ResourceResult) string {
	low, high := x.Seconds[0].Workers, x.WorkersPeak
	for _, s := range x.Seconds {
		low = min(low, s.Workers)
	}
	if low == high {
		return term.Number(low)
	}
	return fmt.Sprintf("%s to %s", term.Number(low), term.Number(high))
}

// printFairness shows tenants that competed, if there were any.
func printFairness(w io.Writer, r model.Result) {
	least, most, n := 0.0, 0.0, 0
	for _, t := range r.Tenants {
		if t.Share == 0 {
			continue
		}
		if n++; n == 1 {
			least, most = t.Share, t.Share
		}
		least, most = min(least, t.Share), max(most, t.Share)
	}
	if n < 2 {
		return
	}
	got := fmt.Sprintf("%.0f%%", least*100)
	if high := fmt.Sprintf("%.0f%%", most*100); high != got {
		got += " to " + high
	}
	who := term.Plural(int64(n), "tenant", "tenants") + " competed"
	if all := len(r.Tenants); all > n {
		who = fmt.Sprintf("%s of %s competed (the rest hardly waited)", term.Number(n), term.Plural(int64(all), "tenant", "tenants"))
	}
	fmt.Fprintf(w, "  %s; each of them got %s of its fair share (Jain's index %.3f)\n\n", who, got, r.Jain)
}

// printSeries draws a resource over time.
func printSeries(w io.Writer, x *model.ResourceResult) {
	fmt.Fprintf(w, "  %s, %s from left to right\n", x.Name, term.Span(time.Duration(len(x.Seconds))*time.Second))
	for _, line := range []struct {
		name string
		of   func(model.Second) float64
	}{
		{"workers", func(s model.Second) float64 { return float64(s.Workers) }},
		{"sent/s", func(s model.Second) float64 { return float64(s.Started) }},
		{"queued", func(s model.Second) float64 { return float64(s.Ready) }},
		{"failed/s", func(s model.Second) float64 { return float64(s.Failed + s.Refused) }},
	} {
		values := make([]float64, len(x.Seconds))
		most := 0.0
		for i, s := range x.Seconds {
			values[i] = line.of(s)
			most = max(most, values[i])
		}
		if most > 0 {
			fmt.Fprintf(w, "    %s  %s  up to %s\n", term.Pad(line.name, 8), term.Spark(values, sparkWide, most), term.Number(int64(most+0.5)))
		}
	}
	fmt.Fprintln(w)
}

func spanOf(s model.Span) string { return term.Span(time.Duration(s)) }
