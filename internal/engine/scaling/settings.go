package scaling

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/coord"
	"github.com/weirhq/weir/store"
)

// SettingsRecord names the record of what operators have set.
const SettingsRecord = "scaling"

// Settings returns what operators have set; what is zero follows the options of the engines.
func Settings(ctx context.Context, s store.Registry) (weir.Scaling, error) {
	set, _, err := settings(ctx, s)
	return set, err
}

func settings(ctx context.Context, s store.Registry) (set weir.Scaling, raw []byte, err error) {
	raw, err = s.Lookup(ctx, SettingsRecord)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return set, nil, fmt.Errorf("read scaling: %w", err)
	}
	set, err = Parse(raw)
	return set, raw, err
}

// Parse reads the record of what operators have set, without what is over; nil stands for no record.
func Parse(raw []byte) (set weir.Scaling, err error) {
	if raw == nil {
		return set, nil
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return weir.Scaling{}, fmt.Errorf("read scaling: %w", err)
	}
	coord.Expire(&set, time.Now().UnixNano())
	return set, nil
}

// Change changes how workers follow the load, on all nodes within a second or two. What change leaves
// zero follows the options of the engines. Nothing changes if the result cannot be used. change is
// called again if another change was faster.
func Change(ctx context.Context, s store.Registry, change func(*weir.Scaling)) error {
	for {
		set, old, err := settings(ctx, s)
		if err != nil {
			return err
		}
		change(&set)
		if err := coord.Validate(&set); err != nil {
			return fmt.Errorf("scaling: %w", err)
		}
		raw, err := json.Marshal(&set)
		if err != nil {
			return err
		}
		now, err := s.Swap(ctx, SettingsRecord, old, raw)
		if err != nil {
			return fmt.Errorf("write scaling: %w", err)
		}
		if string(now) == string(raw) {
			return nil
		}
	}
}

// InForce returns how workers follow the load: what operators set, and the options of an
// engine, with its number of workers, where they set nothing.
func InForce(ctx context.Context, s store.Registry, options weir.Scaling, workers int) (weir.Scaling, error) {
	set, err := Settings(ctx, s)
	if err != nil {
		return set, err
	}
	return WithOptions(set, options, workers), nil
}

// WithOptions adds the options of an engine, with its number of workers, where operators have set nothing.
func WithOptions(set, options weir.Scaling, workers int) weir.Scaling {
	set.Policy, set.Shadow = cmp.Or(set.Policy, options.Policy), cmp.Or(set.Shadow, options.Shadow)
	set.Min, set.Max = cmp.Or(set.Min, options.Min, workers), cmp.Or(set.Max, options.Max)
	set.Drain, set.Paused = cmp.Or(set.Drain, options.Drain), cmp.Or(set.Paused, options.Paused)
	if set.Timetables == nil {
		set.Timetables = options.Timetables
	}
	if set.RateRules == nil {
		set.RateRules = options.RateRules
	}
	return set
}
