package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/core/plain"
)

// checkSpec turns a spec into its stored form, or lists all that is wrong with it.
func (e *Engine) checkSpec(d weir.Definition, s weir.Spec) (*partition.Created, error) {
	now := time.Now()
	c := &partition.Created{
		Name: s.Name, Tenant: s.Tenant, Tier: s.Tier, Priority: s.Priority, Chain: d.Name,
		StopOn: s.StopOn, Concurrency: s.Concurrency, RetryOf: s.RetryOf, Submitted: now.UnixNano(),
		Text: d.Text, Hold: s.Hold,
	}
	if c.Name == "" {
		c.Name = c.Chain
	}
	if c.Tenant == "" {
		c.Tenant = "default"
	}
	var bad weir.InputError
	steps, err := e.catalog.Find(c)
	if faults := (*weir.InputError)(nil); errors.As(err, &faults) {
		bad.Fields = append(bad.Fields, faults.Fields...)
	} else if err != nil {
		return nil, err
	}
	for _, st := range steps {
		c.Steps = append(c.Steps, st.Name)
	}
	checkDeadline(c, s.Deadline, now, &bad)
	checkStart(c, s.StartAt, s.Hold, now, &bad)
	checkCanary(s.Canary, &bad)
	checkRates(c, s.Rates, &bad)
	checkLimits(c, s.IdempotencyKey, &bad)
	checkStopOn(&c.StopOn, &bad)
	return c, bad.OrNil()
}

func checkLimits(c *partition.Created, key string, bad *weir.InputError) {
	for _, f := range []struct{ field, value string }{{"name", c.Name}, {"tenant", c.Tenant}, {"idempotency_key", key}} {
		if problem := badText(f.value, 128); problem != "" {
			bad.Add("bad_text", f.field, problem, "use at most 128 printable characters")
		}
	}
	if c.Tier > weir.TierLow {
		bad.Add("bad_value", "tier", fmt.Sprintf("%d is not a tier", c.Tier),
			"use one of weir.TierCritical, TierHigh, TierDefault, TierLow")
	}
	if c.Priority < -100 || c.Priority > 100 {
		bad.Add("out_of_range", "priority", fmt.Sprintf("%d is not between -100 and 100", c.Priority), "leave it 0")
	}
	if c.Concurrency < 0 {
		bad.Add("out_of_range", "concurrency", fmt.Sprintf("%d is negative", c.Concurrency), "leave it 0 for unlimited")
	}
}

func checkStopOn(r *weir.StopRule, bad *weir.InputError) {
	if math.IsNaN(r.FailureRate) || r.FailureRate < 0 || r.FailureRate > 1 || r.MinItems < 0 || r.MaxFailures < -1 {
		bad.Add("out_of_range", "stop_on", fmt.Sprintf("%+v", *r),
			"want a failure rate between 0 and 1, min items of at least 0, max failures of at least -1")
	}
	if r.MinItems > 0 && r.FailureRate == 0 {
		bad.Add("bad_value", "stop_on.min_items", "min_items without failure_rate never stops anything", "add failure_rate")
	}
}

func badText(s string, most int) string {
	if len(s) > most {
		return fmt.Sprintf("has %d bytes, more than %d", len(s), most)
	}
	if strings.ContainsFunc(s, plain.Refused) {
		return fmt.Sprintf("%q has a control character or one that turns text around, or is not UTF-8", s)
	}
	if plain.Blank(s) {
		return fmt.Sprintf("%q has nothing that can be seen", s)
	}
	return ""
}

// canaryOf is the stored form of a canary of so many items.
func canaryOf(c *weir.Canary, expected int64) *partition.Canary {
	if c == nil {
		return nil
	}
	n := c.Items
	if n == 0 {
		n = max(1, int64(math.Ceil(c.Percent/100*float64(expected))))
	}
	out := &partition.Canary{Items: n, Auto: c.Auto, Success: c.SuccessRate, P95: int64(c.P95)}
	if out.Success == 0 {
		out.Success = 0.99
	}
	return out
}

func checkDeadline(c *partition.Created, at, now time.Time, bad *weir.InputError) {
	if at.IsZero() {
		return
	}
	c.Deadline = at.UnixNano()
	switch {
	case at.Before(now):
		bad.Add("bad_time", "deadline", fmt.Sprintf("%s is in the past", at.UTC().Format(time.RFC3339)), "choose a later time")
	case at.After(now.AddDate(10, 0, 0)): // also what does not fit into UnixNano
		bad.Add("bad_time", "deadline", fmt.Sprintf("%s is more than ten years ahead", at.UTC().Format(time.RFC3339)),
			"choose an earlier time, or leave it out to have no deadline")
	}
}

func checkStart(c *partition.Created, at time.Time, hold bool, now time.Time, bad *weir.InputError) {
	if at.IsZero() {
		return
	}
	if hold {
		bad.Add("bad_time", "start_at", "is set together with hold", "leave one of them out")
	}
	if at.Before(now.Add(-time.Minute)) {
		bad.Add("bad_time", "start_at", fmt.Sprintf("%v is in the past", at.UTC().Format(time.RFC3339)),
			"choose a later time, or leave it out to start at once")
	}
	if at.After(now.AddDate(10, 0, 0)) {
		bad.Add("bad_time", "start_at", fmt.Sprintf("%v is more than ten years ahead", at.UTC().Format(time.RFC3339)),
			"choose an earlier time")
	}
	if c.StartAt = at.UnixNano(); c.Deadline != 0 && c.Deadline <= c.StartAt {
		bad.Add("out_of_range", "deadline", "is not after start_at", "choose a later deadline")
	}
}

func checkCanary(canary *weir.Canary, bad *weir.InputError) {
	switch {
	case canary == nil:
	case !(canary.Percent >= 0 && canary.Percent <= 100) || canary.Items < 0 || canary.Percent > 0 && canary.Items > 0 ||
		canary.Percent == 0 && canary.Items == 0:
		bad.Add("out_of_range", "canary", fmt.Sprintf("%v percent and %d items", canary.Percent, canary.Items),
			"set percent, above 0 and at most 100, or items, at least 1")
	case !(canary.SuccessRate >= 0 && canary.SuccessRate <= 1) || canary.P95 < 0:
		bad.Add("out_of_range", "canary", fmt.Sprintf("success rate %v, p95 %v", canary.SuccessRate, canary.P95),
			"want a success rate between 0 and 1, and a p95 of at least 0")
	case !canary.Auto && (canary.SuccessRate > 0 || canary.P95 > 0):
		bad.Add("bad_value", "canary.approve", "success_rate and p95 have no effect without auto", "set auto, or leave them out")
	}
}

func checkRates(c *partition.Created, rates map[string]weir.Rate, bad *weir.InputError) {
	for step, rate := range rates {
		switch {
		case !slices.Contains(c.Steps, step):
			bad.Add("unknown_step", "rates."+step, "no such step", fmt.Sprintf("use one of %q", c.Steps))
		case !(rate > 0 && rate <= 1e9):
			bad.Add("out_of_range", "rates."+step, fmt.Sprintf("%v is not above 0 and at most 1e9 a second", float64(rate)),
				"leave it out for no rate of its own")
		default:
			if c.Rates == nil {
				c.Rates = map[string]float64{}
			}
			c.Rates[step] = float64(rate)
		}
	}
}
