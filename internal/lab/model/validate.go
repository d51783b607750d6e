package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/route"
	"github.com/weirhq/weir/internal/core/scale"
)

const (
	mostNodes     = 64
	mostItems     = 1_000_000_000
	mostSlots     = 1_000_000
	mostArrivals  = 5_000_000 // bulk actions of one stream; more would not fit into memory
	mostAttempts  = 250
	mostResources = 64
	mostPriority  = 1000
)

// Validate returns an error that lists every field that is wrong, each with its
// problem and what to write instead.
func (w World) Validate() error { return w.withDefaults().validate() }

// validate checks a world whose defaults are filled in.
func (w World) validate() error {
	c := &checker{}
	c.between("nodes", int64(len(w.Nodes)), 1, mostNodes, "list them, as in nodes: [{slots: 64}]")
	for i, n := range w.Nodes {
		c.between(fmt.Sprintf("nodes[%d].slots", i), int64(n.Slots), 1, mostSlots, "write how many tasks run at once")
	}
	c.between("partitions", int64(w.Partitions), 1, route.MostPartitions, "leave it out for 8")
	c.day("length", w.Length)
	c.must(w.MaxTasks >= 0, "max_tasks", fmt.Sprintf("%d is below 0", w.MaxTasks), "leave it out for no bound")
	c.workers(w.Workers)
	c.between("resources", int64(len(w.Resources)), 1, mostResources,
		"add one, as in resources: [{name: send, rate: 300/s, downstream: {latency: 50ms}}]")
	names := map[string]bool{}
	for i := range w.Resources {
		r := &w.Resources[i]
		c.name(fmt.Sprintf("resources[%d].name", i), r.Name, names)
		c.resource("resources."+r.Name, r)
	}
	c.bulkActions(w, w.ResourceNames())
	c.tenants(w)
	return c.errs.OrNil()
}

// ResourceNames lists the resources.
func (w World) ResourceNames() (names []string) {
	for _, r := range w.Resources {
		names = append(names, r.Name)
	}
	return names
}

// checker collects what is wrong.
type checker struct{ errs weir.InputError }

func (c *checker) must(holds bool, field, problem, fix string) bool {
	if !holds {
		c.errs.Add("invalid", field, problem, fix)
	}
	return holds
}

func (c *checker) between(field string, n, low, high int64, fix string) {
	c.must(n >= low && n <= high, field, fmt.Sprintf("%d is not between %d and %d", n, low, high), fix)
}

func (c *checker) oneOf(field, word string, words ...string) {
	c.must(slices.Contains(words, word), field, fmt.Sprintf("%q is unknown", word), "write one of "+strings.Join(words, ", "))
}

func (c *checker) name(field, name string, seen map[string]bool) {
	c.must(name != "", field, "is empty", "give it a name")
	c.must(!strings.ContainsAny(name, ".= \t\n"), field, fmt.Sprintf("%q contains a dot, an equals sign or a space", name),
		"write it with dashes")
	c.must(!seen[name] || name == "", field, fmt.Sprintf("%q is used twice", name), "give one of them another name")
	seen[name] = true
}

func (c *checker) workers(w Workers) {
	c.oneOf("workers.policy", policyName(w.Policy), scale.Names()...)
	if err := (scale.Config{Min: w.Min, Max: w.Max}).Validate(); err != nil {
		c.must(false, "workers", err.Error(), "")
		return
	}
	c.must(w.Start >= w.Min && w.Start <= w.Max, "workers.start",
		fmt.Sprintf("%d is not between %d and %d, the bounds", w.Start, w.Min, w.Max), "change it, or the bounds")
}

func policyName(name string) string {
	if name == "" {
		return scale.Default
	}
	return name
}

func (c *checker) resource(field string, r *Resource) {
	c.must(r.Rate >= 0 && r.Rate <= 1e9, field+".rate", fmt.Sprintf("%v is not between 0 and 1e9", float64(r.Rate)),
		"write it as in 500/s")
	c.between(field+".concurrency", int64(r.Concurrency), 0, mostSlots, "leave it out for no bound")
	c.between(field+".attempts", int64(r.Attempts), 1, mostAttempts, "leave it out for 5")
	c.between(field+".workers", int64(r.Workers), 0, mostSlots, "leave it out for the setting of the world")
	c.oneOf(field+".pacing", r.Pacing, string(weir.PacingSmooth), string(weir.PacingFull))
	c.oneOf(field+".flow", r.Flow, FlowOn, FlowOff, FlowAIMD)
	d := &r.Downstream
	c.day(field+".timeout", r.Timeout)
	c.day(field+".backoff", r.Backoff)
	c.day(field+".backoff_cap", r.BackoffCap)
	c.day(field+".downstream.latency", d.Latency)
	c.day(field+".downstream.burst", d.Burst)
	c.day(field+".downstream.retry_after", d.RetryAfter)
	c.must(d.Latency > 0, field+".downstream.latency", "is missing", "write how long a call takes, as in 50ms")
	c.p99(field+".downstream.p99", d.Latency, d.P99)
	c.share(field+".downstream.failures", d.Failures)
	c.share(field+".downstream.retries", d.Retries)
	c.share(field+".downstream.rejects", d.Rejects)
	c.oneOf(field+".downstream.overload", d.Overload, Refuse, Slow)
	for i, in := range d.Incidents {
		f := fmt.Sprintf("%s.downstream.incidents[%d]", field, i)
		c.day(f+".from", in.From)
		c.day(f+".for", in.For)
		c.day(f+".latency", in.Latency)
		c.must(in.For > 0, f+".for", "is missing", "write how long it lasts, as in 2m")
		c.p99(f+".p99", in.Latency, in.P99)
		c.share(f+".failures", in.Failures)
	}
}

func (c *checker) day(field string, s Span) {
	c.must(s >= 0 && s <= longest, field, spanText(s)+" is not between 0s and 24h", "the maximum is 24h")
}

func (c *checker) share(field string, s Percent) {
	c.must(s >= 0 && s <= 1, field, fmt.Sprintf("%v is not between 0%% and 100%%", float64(s)), "write it as in 5%")
}

func (c *checker) p99(field string, mean, p99 Span) {
	if mean <= 0 {
		return // said already
	}
	c.must(p99 >= mean && p99 <= widest*mean, field,
		fmt.Sprintf("%s is not between the mean %s and ten times that", spanText(p99), spanText(mean)), "change it, or the latency")
}

func (c *checker) bulkActions(w World, resources []string) {
	c.must(len(w.BulkActions) > 0, "bulk_actions", "is empty",
		"add one, as in bulk_actions: [{name: spring, items: 100000, steps: [send]}]")
	names := map[string]bool{}
	for i, b := range w.BulkActions {
		c.name(fmt.Sprintf("bulk_actions[%d].name", i), b.Name, names)
		f := "bulk_actions." + b.Name
		c.between(f+".items", b.Items, 1, mostItems, "write how many items it has")
		c.must(b.ItemsP99 == 0 || b.ItemsP99 >= b.Items && b.ItemsP99 <= widest*b.Items, f+".items_p99",
			fmt.Sprintf("%d is not between the mean %d and ten times that", b.ItemsP99, b.Items),
			"change it, or leave it out for a fixed size")
		_, err := weir.ParseTier(b.Tier)
		c.must(err == nil, f+".tier", fmt.Sprintf("%q is unknown", b.Tier), "write one of critical, high, default, low")
		c.between(f+".batch", int64(b.Batch), 1, 1000, "leave it out for 100")
		perStep(c, f+".batches", &b, b.Batches, func(field string, _, n int) {
			c.between(field, int64(n), 1, 1000, "leave them out for the same everywhere")
		})
		c.between(f+".concurrency", int64(b.Concurrency), 0, mostSlots, "leave it out for no bound")
		perStep(c, f+".rates", &b, b.Rates, func(field string, _ int, r Rate) {
			c.must(r >= 0 && r <= 1e9, field, fmt.Sprintf("%v is not between 0 and 1e9", float64(r)), "write it as in 500/s, or unlimited")
		})
		c.day(f+".deadline", b.Deadline)
		c.begun(f, &b)
		c.between(f+".priority", int64(b.Priority), -mostPriority, mostPriority, "the default is 0")
		c.between(f+".spread", int64(b.Spread), 0, 1_000_000, "leave it out for one tenant")
		c.must(len(b.Steps) > 0 && len(b.Steps) <= weir.MaxSteps, f+".steps", fmt.Sprintf("has %d steps", len(b.Steps)),
			fmt.Sprintf("name 1 to %d resources, in order", weir.MaxSteps))
		for _, s := range b.Steps {
			c.must(slices.Contains(resources, s), f+".steps", fmt.Sprintf("unknown resource %q", s), "known: "+strings.Join(resources, ", "))
		}
		c.stream(f, b)
	}
	c.must(w.StopAfter == "" || names[w.StopAfter], "stop_after", fmt.Sprintf("unknown bulk action %q", w.StopAfter),
		"name one of them, or leave it out")
}

// perStep checks a list that has an entry for each step, or ends before.
func perStep[T any](c *checker, field string, b *BulkAction, list []T, each func(field string, step int, x T)) {
	c.must(len(list) <= len(b.Steps), field, fmt.Sprintf("has %d entries for %d steps", len(list), len(b.Steps)),
		"list one for each step")
	for i, x := range list {
		each(fmt.Sprintf("%s[%d]", field, i), i, x)
	}
}

// begun checks which items pass steps without a call, and which have begun.
func (c *checker) begun(field string, b *BulkAction) {
	perStep(c, field+".skips", b, b.Skips, func(field string, _ int, s Percent) { c.share(field, s) })
	perStep(c, field+".left_out", b, b.LeftOut, func(field string, step int, s Percent) {
		c.share(field, s)
		c.must(s+at(b.Skips, step) <= 1, field, "exceeds 100% together with skips", "lower one of them")
	})
	begun := int64(0)
	count := func(field string, _ int, n int64) {
		c.between(field, n, 0, b.Items, "count items")
		begun += max(n, 0)
	}
	perStep(c, field+".standing", b, b.Standing, count)
	perStep(c, field+".flying", b, b.Flying, count)
	perStep(c, field+".waiting", b, b.Waiting, count)
	c.day(field+".due", b.Due)
	c.must(begun <= b.Items, field+".standing",
		fmt.Sprintf("counts %d items with those in flight or waiting, of %d", begun, b.Items), "count each item once")
	c.must(begun == 0 || b.Arrivals == 0 && b.ItemsP99 == 0, field+".standing", "has no effect in a stream", "leave it out")
}

// stream checks when bulk actions come.
func (c *checker) stream(field string, b BulkAction) {
	if b.Arrivals == 0 {
		c.day(field+".at", b.At)
		return
	}
	if !c.must(b.Until > b.At && b.Until <= longest, field+".until",
		fmt.Sprintf("%s is not after %s and at most 24h", spanText(b.Until),
			spanText(b.At)), "write when the stream ends, or give the world a length") {
		return
	}
	n := float64(b.Arrivals) * seconds(b.Until-b.At)
	c.must(n <= mostArrivals, field+".arrivals", fmt.Sprintf("creates about %.0f bulk actions", n),
		fmt.Sprintf("lower it, or end the stream sooner: the maximum is %d", mostArrivals))
}

func (c *checker) tenants(w World) {
	names := map[string]bool{}
	for i, t := range w.Tenants {
		c.name(fmt.Sprintf("tenants[%d].name", i), t.Name, names)
		c.between("tenants."+t.Name+".max_tasks", int64(t.MaxTasks), 0, mostSlots, "leave it out for no bound")
		c.must(t.Weight >= 0.01 && t.Weight <= 1000, "tenants."+t.Name+".weight",
			fmt.Sprintf("%v is not between 0.01 and 1000", t.Weight), "the default is 1")
		used := slices.ContainsFunc(w.BulkActions, func(b BulkAction) bool { return b.Tenant == t.Name })
		c.must(used, "tenants."+t.Name, "has no bulk action", "set the tenant of one to this name, or remove it")
	}
}
