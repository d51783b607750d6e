package outlook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/lab/model"
	"github.com/weirhq/weir/internal/service/check"
)

// Limits of a described system, so that a response takes seconds and little memory.
const (
	simulateFor   = 2 * time.Second // of computing, for all runs
	simulateRuns  = 10              // default
	mostEntries   = 1000            // bulk actions, and tenants
	mostArriving  = 50_000          // bulk actions of all streams
	mostLanes     = 1024            // resources times partitions
	mostWatched   = 200_000         // seconds times resources
	mostCalls     = 250_000         // of one run
	longestPlayed = 24 * time.Hour
)

// SimulateWorld simulates a described system. A run that takes too long is cut short.
func SimulateWorld(ctx context.Context, raw json.RawMessage, runs int) (api.Simulated, error) {
	w, err := readWorld(raw)
	if err != nil {
		return api.Simulated{}, err
	}
	if err := checkWorld(&w); err != nil {
		return api.Simulated{}, err
	}
	if w.MaxTasks == 0 || w.MaxTasks > mostCalls {
		w.MaxTasks = mostCalls
	}
	began := time.Now()
	most := watchable(&w)
	enough := func(at model.Span) bool {
		return ctx.Err() != nil || time.Since(began) > simulateFor || time.Duration(at) > most
	}
	runs = cmp.Or(runs, simulateRuns)
	f, err := model.ForeseeUntil(w, runs, enough)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return api.Simulated{}, err
	}
	return viewWorld(&w, &f, runs), nil
}

// watchable returns how long a world may be simulated: the result keeps every second of every
// resource.
func watchable(w *model.World) time.Duration {
	return min(longestPlayed, mostWatched/time.Duration(max(len(w.Resources), 1))*time.Second)
}

// readWorld decodes a described system.
func readWorld(raw json.RawMessage) (w model.World, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err = d.Decode(&w); err == nil {
		return w, nil
	}
	fault := &weir.FieldError{Code: "bad_value", Field: "world", Problem: strings.TrimPrefix(err.Error(), "json: "),
		Fix: "weir simulate flood --show prints an example as YAML, with the same fields"}
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) && wrong.Field != "" {
		fault.Field, fault.Problem = "world."+wrong.Field, "cannot be "+wrong.Value
	}
	if strings.HasPrefix(fault.Problem, "unknown field ") {
		fault.Code = "unknown_field"
	}
	return w, fault
}

// checkWorld returns what is wrong with a described system, or too large in it.
func checkWorld(w *model.World) error {
	var bad weir.InputError
	atMost := func(field string, n, most float64, fix string) {
		if n > most {
			bad.Add("out_of_range", "world."+field, fmt.Sprintf("%.0f is more than the maximum of %.0f", n, most), fix)
		}
	}
	atMost("bulk_actions", float64(len(w.BulkActions)), mostEntries, "list fewer, or combine them into streams")
	atMost("tenants", float64(len(w.Tenants)), mostEntries, "list fewer")
	atMost("partitions", float64(max(w.Partitions, len(w.Nodes))*len(w.Resources)), mostLanes,
		"use fewer partitions or resources: their product counts")
	if len(bad.Fields) > 0 {
		return &bad
	}
	if err := w.Validate(); err != nil {
		if !check.AddUnder(&bad, "world.", err) {
			return err
		}
		for _, f := range bad.Fields {
			f.Code = "out_of_range"
		}
		return &bad
	}
	coming := 0.0
	for _, b := range w.BulkActions {
		coming += float64(b.Arrivals) * time.Duration(cmp.Or(b.Until, w.Length)-b.At).Seconds()
	}
	atMost("bulk_actions", coming, mostArriving, "lower the arrivals, or shorten the time")
	if most := watchable(w); time.Duration(w.Length) > most {
		bad.Add("out_of_range", "world.length", fmt.Sprintf("%v with %d resources is too long", time.Duration(w.Length),
			len(w.Resources)), fmt.Sprintf("at most %v", most))
	}
	return bad.OrNil()
}

func viewWorld(w *model.World, f *model.Forecast, runs int) api.Simulated {
	span := func(p50, p90 model.Span) api.Quantiles {
		return api.Quantiles{P50: api.Duration(time.Duration(p50).Round(time.Millisecond)),
			P90: api.Duration(time.Duration(p90).Round(time.Millisecond))}
	}
	first := &f.First
	out := api.Simulated{
		Takes: span(f.P50, f.P90), Finished: f.Unfinished == 0, Steps: []api.ForecastStep{}, Bottleneck: bottleneckOf(w, first),
		Shares: shareCurve(time.Duration(first.Curve.Every), append(first.Curve.Tenants, ""), first.Curve.Points,
			func(string) bool { return true }),
	}
	for i, k := range f.Kinds {
		out.BulkActions = append(out.BulkActions,
			api.SimulatedBulk{Name: k.Name, Tenant: first.Kinds[i].Tenant, Items: first.Kinds[i].Items, Takes: span(k.P50, k.P90)})
	}
	for _, r := range first.Resources {
		out.Workers = append(out.Workers, api.PeakWorkers{Resource: r.Name, Peak: r.WorkersPeak})
	}
	out.Assumptions = []string{
		fmt.Sprintf("Simulated runs: %d, each with another seed; shares, workers and the bottleneck come from the first run.", f.Runs),
		"Storage, message latency and node failures are not simulated.",
	}
	if f.Runs < runs || f.Unfinished > 0 {
		out.Assumptions = append(out.Assumptions,
			fmt.Sprintf("Runs stop after %v of computing, %d calls, the length of the world, or %v of simulated time: of %d "+
				"runs, %d count.", simulateFor, w.MaxTasks, watchable(w), runs, f.Runs))
	}
	return out
}

// bottleneckOf returns what the bulk action that ends last waited for most; nil: nothing
// significant.
func bottleneckOf(w *model.World, r *model.Result) *api.Bottleneck {
	var last *model.KindResult
	var b *model.BulkAction
	for i := range r.Kinds {
		if k := &r.Kinds[i]; last == nil || k.Open > last.Open || k.Open == last.Open && k.Finish > last.Finish {
			last, b = k, &w.BulkActions[i]
		}
	}
	for _, wait := range last.Waited {
		for _, res := range w.Resources {
			if res.Name == wait.Resource && wait.Share >= 0.2 {
				return limitOf(&res, wait, w, b)
			}
		}
	}
	return nil
}

// limitOf returns the limit of a resource that work waits for. Waiting for a fair share counts as
// waiting for the same limit.
func limitOf(r *model.Resource, wait model.Wait, w *model.World, b *model.BulkAction) *api.Bottleneck {
	switch {
	case wait.Own && wait.Reason == "concurrency":
		return &api.Bottleneck{Kind: "concurrency", Resource: r.Name, Value: fmt.Sprintf("%d at once", b.Concurrency), Of: "bulk_action"}
	case wait.Own:
		return &api.Bottleneck{Kind: "rate", Resource: r.Name, Value: ownRate(b, r.Name).String(), Of: "bulk_action"}
	case wait.Tenant:
		return &api.Bottleneck{Kind: "concurrency", Resource: r.Name, Value: fmt.Sprintf("%d at once", mostTasks(w, b.Tenant)), Of: "tenant"}
	case wait.Reason == "rate" || wait.Reason == "fair_share" && r.Rate > 0:
		return &api.Bottleneck{Kind: "rate", Resource: r.Name, Value: weir.Rate(r.Rate).String()}
	case wait.Reason == "concurrency" || wait.Reason == "fair_share" && r.Concurrency > 0:
		return &api.Bottleneck{Kind: "concurrency", Resource: r.Name, Value: fmt.Sprintf("%d at once", r.Concurrency)}
	case wait.Reason == "no_workers" || wait.Reason == "fair_share":
		return &api.Bottleneck{Kind: "workers", Resource: r.Name, Value: fmt.Sprintf("%d workers", cmp.Or(w.Workers.Max, 64))}
	}
	return &api.Bottleneck{Kind: "service", Resource: r.Name, Value: fmt.Sprintf("%v a call", time.Duration(r.Downstream.Latency))}
}

// ownRate returns the lowest rate of its own that a bulk action has at a resource.
func ownRate(b *model.BulkAction, resource string) (rate weir.Rate) {
	for i, name := range b.Steps {
		if name == resource && i < len(b.Rates) && b.Rates[i] > 0 && (rate == 0 || weir.Rate(b.Rates[i]) < rate) {
			rate = weir.Rate(b.Rates[i])
		}
	}
	return rate
}

// mostTasks returns how many tasks of a tenant may be in flight, over all nodes.
func mostTasks(w *model.World, tenant string) int {
	for _, t := range w.Tenants {
		if t.Name == tenant {
			return t.MaxTasks * max(len(w.Nodes), 1)
		}
	}
	return 0
}
