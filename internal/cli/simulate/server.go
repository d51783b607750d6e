package simulate

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/link"
	"github.com/weirhq/weir/internal/cli/term"
	"github.com/weirhq/weir/internal/cli/watch"
)

// bulkPrefix begins the ids of bulk actions; no scenario begins like that.
const bulkPrefix = "ba_"

// atServer asks a server what would be of a bulk action.
func (o *simulateOptions) atServer(ctx context.Context, env *command.Env, fs *pflag.FlagSet, id string) error {
	if err := command.Stray(fs, "leave it out", "described systems", "policy", "load", "seed", "compare", "runs", "list",
		"show"); err != nil {
		return err
	}
	if o.output != "table" && o.output != "json" {
		return command.BadUsage("write one of table, json", "--output: %q is not known for a bulk action", o.output)
	}
	what := api.Simulation{BulkAction: id}
	for _, text := range o.set {
		if err := setAtServer(&what, text); err != nil {
			return err
		}
	}
	if o.workers != "" {
		n, err := strconv.Atoi(o.workers)
		if err != nil || n < 1 {
			return command.BadUsage("write the maximum of each lane, as in 32", "--workers: %q is not a number of workers", o.workers)
		}
		what.Workers = n
	}
	return o.remote.Ask(ctx, env, command.Format(o.output), func(ctx context.Context, l *link.Link) error {
		out, err := l.Simulate(ctx, what)
		if err != nil {
			return err
		}
		if o.output == "json" {
			return command.PrintJSON(env, out)
		}
		printSimulated(env, &out, o.set)
		return nil
	})
}

// setAtServer reads NAME.FIELD=VALUE. Names may have dots in them.
func setAtServer(what *api.Simulation, text string) error {
	path, value, found := strings.Cut(text, "=")
	dot := strings.LastIndexByte(path, '.')
	if !found || dot < 1 {
		return command.BadUsage("write it as in --set send-message.rate=450/s", "--set: %q is not NAME.FIELD=VALUE", text)
	}
	name, field := path[:dot], path[dot+1:]
	var err error
	switch field {
	case "rate":
		var r api.Rate
		err = r.UnmarshalText([]byte(value))
		what.Rates = with(what.Rates, name, r)
	case "concurrency":
		var n int
		n, err = strconv.Atoi(value)
		what.Concurrency = with(what.Concurrency, name, n)
	case "pacing":
		_, err = weir.ParsePacing(value)
		what.Pacing = with(what.Pacing, name, value)
	case "weight":
		var w float64
		w, err = strconv.ParseFloat(value, 64)
		what.Weights = with(what.Weights, name, w)
	default:
		return command.BadUsage("for a bulk action of a server, set rate, concurrency or pacing of a resource, or weight of a tenant",
			"--set %s: %q cannot be set", path, field)
	}
	if err != nil {
		return command.BadUsage("write it as in 450/s, 8, full or 2.5", "--set %s: %q is not a %s", path, value, field)
	}
	return nil
}

// with is a map that has one more entry.
func with[V any](m map[string]V, key string, v V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[key] = v
	return m
}

// printSimulated tells people what would be.
func printSimulated(env *command.Env, s *api.Simulated, set []string) {
	p, wide := command.Outward(env)
	if wide == 0 {
		wide = command.HelpWidth
	}
	w := env.Stdout
	row := func(name, text string) { fmt.Fprintf(w, "%s %s\n", p.Dim(term.Pad(name, 11)), p.Tame(text)) }
	if len(set) > 0 {
		row("with", strings.Join(set, ", "))
	}
	if takes := s.Takes; takes == (api.Quantiles{}) && !s.Finished {
		row("takes", "no end: calls are failing now, so no item would be done")
	} else {
		row("takes", fmt.Sprintf("%s (p90 %s)", term.Span(time.Duration(takes.P50)), term.Span(time.Duration(takes.P90))))
	}
	if s.Finish != nil {
		row("done by", fmt.Sprintf("%s (p90 %s)", command.People(s.Finish.P50), command.People(s.Finish.P90)))
	}
	for _, st := range s.Steps {
		row("step", fmt.Sprintf("%s  %s items in %s calls, %s", st.Step, term.Number(st.Items), term.Number(st.Calls),
			term.Span(time.Duration(st.Takes))))
	}
	if b := s.Bottleneck; b != nil {
		row("bottleneck", watch.Bottleneck(b))
	}
	for _, x := range s.Workers {
		row("workers", fmt.Sprintf("%s  at most %d", x.Resource, x.Peak))
	}
	for i, t := range s.Shares.Tenants {
		var values []float64
		for _, point := range s.Shares.Points {
			values = append(values, point.Shares[i])
		}
		row("share", fmt.Sprintf("%s %s", term.Pad(t, 12), term.Spark(values, min(60, max(20, wide-30)), 1)))
	}
	for _, a := range s.Assumptions {
		row("assumed", a)
	}
}
