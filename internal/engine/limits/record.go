package limits

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/store"
)

const (
	// RecordName names the record of what operators have set.
	RecordName = "limits"
	maxLimited = 10_000 // tenants with settings of their own: all nodes hold them in memory
)

// record is what operators have set, as stored. Each change has a higher version.
type record struct {
	Version uint64 `json:"version"`
	weir.Limits
}

// Read returns what operators have set of resources and tenants.
func Read(ctx context.Context, s store.Registry) (weir.Limits, error) {
	r, _, err := read(ctx, s)
	return r.Limits, err
}

func read(ctx context.Context, s store.Registry) (r record, raw []byte, err error) {
	if raw, err = lookup(ctx, s); err == nil {
		r, err = parse(raw)
	}
	return r, raw, err
}

// lookup reads the record, nil if there is none.
func lookup(ctx context.Context, s store.Registry) ([]byte, error) {
	raw, err := s.Lookup(ctx, RecordName)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("read limits: %w", err)
	}
	return raw, nil
}

func parse(raw []byte) (r record, err error) {
	if raw == nil {
		return r, nil
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return record{}, fmt.Errorf("read limits: %w", err)
	}
	return r, nil
}

// Change changes the limits on all nodes, also for work that runs. When it returns, the change is in
// force: every node keeps to it or starts nothing. Nothing changes if the result cannot be used. change
// may refuse, having seen what is there; it is called again if another change was faster. obey has the
// node of this process read the limits, if there is one.
func Change(ctx context.Context, s store.Store, obey func(context.Context) error, change func(*weir.Limits) error) error {
	version, err := write(ctx, s, change)
	if err != nil {
		return err
	}
	written := time.Now()
	if obey != nil {
		if err := obey(ctx); err != nil || !own.Shared(s) {
			return err // the node of this process is the only one
		}
	}
	return await(ctx, s, version, written)
}

// write stores a change and returns its version. A change that changes
// nothing has the version of what is there.
func write(ctx context.Context, s store.Store, change func(*weir.Limits) error) (version uint64, err error) {
	for {
		r, old, err := read(ctx, s)
		if err != nil {
			return 0, err
		}
		was := r.Version
		raw, err := r.changed(change)
		if err != nil || r.Version == was {
			return was, err
		}
		now, err := s.Swap(ctx, RecordName, old, raw)
		if err != nil {
			return 0, fmt.Errorf("write limits: %w", err)
		}
		if !bytes.Equal(now, raw) {
			continue // another change was faster
		}
		_ = own.TellLimits(ctx, s) // else they find out by themselves
		return r.Version, nil
	}
}

// changed applies a change and returns the record of it, with the next version
// if anything is different.
func (l *record) changed(change func(*weir.Limits) error) ([]byte, error) {
	before, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	if l.Resources == nil {
		l.Resources = map[string]weir.ResourceLimits{}
	}
	if l.Tenants == nil {
		l.Tenants = map[string]weir.TenantLimits{}
	}
	if err := change(&l.Limits); err != nil {
		return nil, err
	}
	if err := check(&l.Limits); err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}
	raw, err := json.Marshal(l)
	if err != nil || bytes.Equal(raw, before) {
		return raw, err
	}
	l.Version++
	return json.Marshal(l)
}

func check(l *weir.Limits) error {
	var bad weir.InputError
	for _, set := range []weir.FileLimits{{Resources: l.Resources, Tenants: l.Tenants}, l.File} {
		checkLayer(&set, &bad)
	}
	if n := len(l.TenantNames()); n > maxLimited {
		bad.Add("out_of_range", "tenants", fmt.Sprintf("%d have settings of their own, more than %d", n, maxLimited),
			"let tenants that need nothing special have none")
	}
	return bad.OrNil()
}

func checkLayer(l *weir.FileLimits, bad *weir.InputError) {
	for name, r := range l.Resources {
		if r.Rate != nil && !(*r.Rate >= 0 && *r.Rate <= 1e9) {
			bad.Add("out_of_range", "resources."+name+".rate", fmt.Sprintf("%v is not between 0 and 1e9 a second", *r.Rate),
				"0 is unlimited")
		}
		if r.Concurrency != nil && (*r.Concurrency < 0 || *r.Concurrency > 1_000_000) {
			bad.Add("out_of_range", "resources."+name+".concurrency",
				fmt.Sprintf("%d is not between 0 and 1000000", *r.Concurrency), "0 is unlimited")
		}
		if r.Pacing != nil {
			if _, err := weir.ParsePacing(string(*r.Pacing)); err != nil {
				bad.Add("bad_value", "resources."+name+".pacing", fmt.Sprintf("%q is unknown", *r.Pacing), "use smooth or full")
			}
		}
	}
	for name, t := range l.Tenants {
		if math.IsNaN(t.Weight) || t.Weight != 0 && (t.Weight < 0.001 || t.Weight > 1000) {
			bad.Add("out_of_range", "tenants."+name+".weight", fmt.Sprintf("%v is not between 0.001 and 1000", t.Weight), "1 is the default")
		}
		if t.MaxTasks < 0 || t.MaxTasks > 1_000_000 || t.MaxPending < 0 {
			bad.Add("out_of_range", "tenants."+name, fmt.Sprintf("%d tasks, %d pending items", t.MaxTasks, t.MaxPending),
				"want at most 1000000 tasks, and no negative number; 0 means no limit")
		}
	}
}
