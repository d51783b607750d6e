package coord

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/flow"
	"github.com/weirhq/weir/internal/core/scale"
)

// Validate returns an error that names the first invalid setting.
func Validate(s *weir.Scaling) error {
	for _, p := range []struct{ field, name string }{{"policy", s.Policy}, {"shadow", s.Shadow}} {
		if _, err := policyOf(p.name); err != nil {
			return fmt.Errorf("%s: %w", p.field, err)
		}
	}
	if err := (scale.Config{Min: s.Min, Max: s.Max, Drain: s.Drain}).Validate(); err != nil {
		return err
	}
	for _, id := range slices.SortedFunc(maps.Keys(s.Pins), byName) {
		pin := s.Pins[id]
		if pin.Workers < 0 || pin.Until.IsZero() {
			return fmt.Errorf("pin of %v: %d workers until %v: want at least 0 workers and an end", id, pin.Workers, pin.Until)
		}
	}
	for _, r := range slices.Sorted(maps.Keys(s.RateRules)) {
		if _, err := flow.RuleByName(s.RateRules[r]); err != nil {
			return fmt.Errorf("rate rule of %q: %w", r, err)
		}
	}
	for _, r := range slices.Sorted(maps.Keys(s.Timetables)) {
		if _, err := scale.ParseTimetable(s.Timetables[r]); err != nil {
			return fmt.Errorf("timetable of %q: %w", r, err)
		}
	}
	return nil
}

func byName(a, b weir.LaneID) int { return cmp.Compare(a.String(), b.String()) }

// probeKept is how long a request for a probe is kept: until every node that is alive has seen it.
const probeKept = 30 * time.Second

// Expire removes settings that have expired.
func Expire(s *weir.Scaling, now int64) {
	for id, pin := range s.Pins { // order does not reach the output
		if pin.Until.UnixNano() <= now {
			delete(s.Pins, id)
		}
	}
	for r, asked := range s.Probes { // order does not reach the output
		if asked.UnixNano() <= now-int64(probeKept) {
			delete(s.Probes, r)
		}
	}
	for r, c := range s.Circuits { // order does not reach the output
		if c.Until.UnixNano() <= now {
			delete(s.Circuits, r)
		}
	}
}

// policyOf returns the named policy, or nil if the name stands for no policy.
func policyOf(name string) (scale.Policy, error) {
	if name == weir.PolicyOff {
		return nil, nil //nolint:nilnil // no policy is a policy here
	}
	return scale.ByName(name)
}

// config returns the policy's settings for one lane. Floors that are set for a resource are
// divided among its lanes.
func (c *Coordinator) config(s *weir.Scaling, id weir.LaneID, slots, lanes int) scale.Config {
	cfg := scale.Config{
		Min: s.Min, Max: cmp.Or(s.Max, slots), Drain: s.Drain,
		Override: override(s.Pins[id]), Paused: s.Paused != "",
	}
	if slots > 0 {
		cfg.Max = min(cfg.Max, slots)
	}
	cfg.Min = min(cfg.Min, cfg.Max)
	for _, r := range c.timetable(s.Timetables[id.Resource]) {
		r.Workers = share(r.Workers, lanes)
		cfg.Timetable = append(cfg.Timetable, r)
	}
	return cfg
}

// timetable parses a timetable once and caches it: loading a time zone is slow.
func (c *Coordinator) timetable(text string) scale.Timetable {
	if text == "" {
		return nil
	}
	t, ok := c.timetables[text]
	if !ok {
		t, _ = scale.ParseTimetable(text) // Validate has read it
		c.timetables[text] = t
	}
	return t
}

func override(p weir.Pin) scale.Override {
	if p.Until.IsZero() {
		return scale.Override{}
	}
	return scale.Override{Workers: p.Workers, Until: p.Until.UnixNano(), Why: p.Why}
}
