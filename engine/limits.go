package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/partition"
	"github.com/weirhq/weir/store"
)

const (
	limitsRecord = "limits"
	limitsEvery  = time.Second // at which nodes look for changes that no notice told them of
	maxLimited   = 10_000      // tenants with settings of their own: all nodes hold them in memory
)

// Limits is what operators have set of resources and tenants.
func (o *Operator) Limits(ctx context.Context) (weir.Limits, error) {
	l, _, err := o.limits(ctx)
	return l, err
}

func (o *Operator) limits(ctx context.Context) (l weir.Limits, raw []byte, err error) {
	raw, err = o.store.Lookup(ctx, limitsRecord)
	if errors.Is(err, store.ErrNotFound) {
		return l, nil, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &l)
	}
	if err != nil {
		return l, nil, fmt.Errorf("read limits: %w", err)
	}
	return l, raw, nil
}

// SetLimits changes what resources and tenants may use, on all nodes and within
// a second, also for work that runs. Nothing changes if the result cannot be used.
func (o *Operator) SetLimits(ctx context.Context, change func(*weir.Limits)) error {
	return o.ChangeLimits(ctx, func(l *weir.Limits) error { change(l); return nil })
}

// SetLimits is [Operator.SetLimits]; this node keeps to them when it returns.
func (e *Engine) SetLimits(ctx context.Context, change func(*weir.Limits)) error {
	return e.ChangeLimits(ctx, func(l *weir.Limits) error { change(l); return nil })
}

// ChangeLimits is [Operator.ChangeLimits]; this node keeps to them when it returns.
func (e *Engine) ChangeLimits(ctx context.Context, change func(*weir.Limits) error) error {
	if err := e.Operator.ChangeLimits(ctx, change); err != nil {
		return err
	}
	return e.obeyLimits(ctx)
}

// LimitsWithin is how soon all nodes keep to changed limits, and to circuits set by hand.
const LimitsWithin = limitsEvery

// ChangeLimits is [Operator.SetLimits] with a change that may refuse, having
// seen what is there. It is called again if somebody else was faster.
func (o *Operator) ChangeLimits(ctx context.Context, change func(*weir.Limits) error) error {
	for {
		l, old, err := o.limits(ctx)
		if err != nil {
			return err
		}
		if l.Resources == nil {
			l.Resources = map[string]weir.ResourceLimits{}
		}
		if l.Tenants == nil {
			l.Tenants = map[string]weir.TenantLimits{}
		}
		if err := change(&l); err != nil {
			return err
		}
		if err := checkLimitsSet(&l); err != nil {
			return fmt.Errorf("limits: %w", err)
		}
		raw, err := json.Marshal(&l)
		if err != nil {
			return err
		}
		now, err := o.store.Swap(ctx, limitsRecord, old, raw)
		if err != nil {
			return fmt.Errorf("write limits: %w", err)
		}
		if !bytes.Equal(now, raw) {
			continue // somebody else was faster
		}
		notice, err := json.Marshal(notice{What: "limits"})
		if err == nil { // else they find out by themselves
			_ = o.store.Append(ctx, store.Control, notice, store.Claim{})
		}
		return nil
	}
}

func checkLimitsSet(l *weir.Limits) error {
	var bad weir.InputError
	for name, r := range l.Resources {
		if r.Rate != nil && !(*r.Rate >= 0 && *r.Rate <= 1e9) {
			bad.Add("out_of_range", "resources."+name+".rate", fmt.Sprintf("%v is not between 0 and 1e9 a second", *r.Rate), "0 is unlimited")
		}
		if r.Concurrency != nil && (*r.Concurrency < 0 || *r.Concurrency > 1_000_000) {
			bad.Add("out_of_range", "resources."+name+".concurrency", fmt.Sprintf("%d is not between 0 and 1000000", *r.Concurrency), "0 is unlimited")
		}
	}
	for name, t := range l.Tenants {
		if math.IsNaN(t.Weight) || t.Weight != 0 && (t.Weight < 0.001 || t.Weight > 1000) {
			bad.Add("out_of_range", "tenants."+name+".weight", fmt.Sprintf("%v is not between 0.001 and 1000", t.Weight), "1 is what every tenant has")
		}
		if t.MaxTasks < 0 || t.MaxTasks > 1_000_000 || t.MaxPending < 0 {
			bad.Add("out_of_range", "tenants."+name, fmt.Sprintf("%d tasks and %d pending items are not bounds", t.MaxTasks, t.MaxPending), "0 is no bound")
		}
	}
	if n := len(l.Tenants); n > maxLimited {
		bad.Add("out_of_range", "tenants", fmt.Sprintf("%d have settings of their own, more than %d", n, maxLimited), "let tenants that need nothing special have none")
	}
	return bad.OrNil()
}

// limitSet is what this node knows of the resources' and tenants' limits.
type limitSet struct {
	mu      sync.Mutex
	raw     []byte                // of what operators have set, as last read
	set     weir.Limits           // the same
	bounded map[string]bool       // tenants that have a bound on their pending items; never changed
	known   map[string]*knownStep // by resource: what the steps that use it say
	changed bell                  // rung when a resource is new or has other limits
}

// knownStep is a resource as the steps say, and the largest batch among them.
type knownStep struct {
	resource weir.Resource
	batch    int
}

// learn notes the resource of a step. The first limits that are seen hold, until operators set others.
func (e *Engine) learn(s *weir.Step) {
	l := &e.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[string]*knownStep{}
	}
	k := l.known[s.Resource.Name]
	if k == nil {
		k = &knownStep{resource: s.Resource}
		l.known[s.Resource.Name] = k
		l.changed.ring()
	}
	k.batch = max(k.batch, s.BatchSize)
}

// effective is a resource with the limits that hold now.
func (l *limitSet) effective(r weir.Resource) weir.Resource {
	set := l.set.Resources[r.Name]
	if set.Rate != nil {
		r.Rate = *set.Rate
	}
	if set.Concurrency != nil {
		r.Concurrency = *set.Concurrency
	}
	return r
}

// limited gives a step the limits that hold now.
func (e *Engine) limited(s weir.Step) weir.Step {
	e.limits.mu.Lock()
	defer e.limits.mu.Unlock()
	if k := e.limits.known[s.Resource.Name]; k != nil {
		s.Resource = k.resource
	}
	s.Resource = e.limits.effective(s.Resource)
	return s
}

// tenantLimits is what a tenant may use.
func (e *Engine) tenantLimits(name string) weir.TenantLimits {
	e.limits.mu.Lock()
	defer e.limits.mu.Unlock()
	return e.limits.set.Tenants[name]
}

// resources are the known ones, each with the largest batch of the steps that use it.
func (e *Engine) resources() map[weir.Resource]int {
	l := &e.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	batch := map[weir.Resource]int{}
	for _, k := range l.known {
		batch[l.effective(k.resource)] = k.batch
	}
	return batch
}

// obeyLimits reads what operators have set, and has it kept if it has changed.
func (e *Engine) obeyLimits(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.opts.LeaseFor/3)
	defer cancel()
	set, raw, err := e.Operator.limits(ctx)
	if err != nil {
		return err
	}
	l := &e.limits
	l.mu.Lock()
	same := bytes.Equal(raw, l.raw)
	l.raw, l.set = raw, set
	if !same {
		l.bounded = boundedOf(&set)
	}
	l.mu.Unlock()
	if !same {
		e.applyLimits()
	}
	return nil
}

// firstLimits reads what operators have set before anything starts, however long
// the store takes to answer. It reports false if ctx ends before.
func (e *Engine) firstLimits(ctx context.Context) bool {
	for failing := false; ctx.Err() == nil; failing = true {
		err := e.obeyLimits(ctx)
		if err == nil {
			return true
		}
		if !failing && ctx.Err() == nil {
			e.log.LogAttrs(ctx, slog.LevelWarn, "limits not read, nothing starts before", slog.Any("error", err))
		}
		sleep(ctx, retryEvery)
	}
	return false
}

// applyLimits has everybody on this node keep to the limits as they are now.
func (e *Engine) applyLimits() {
	now := time.Now().UnixNano()
	all := e.resources()
	for r := range all {
		e.share.limit(now, r)
	}
	for i := range e.parts {
		if p := e.parts[i].Load(); p != nil {
			p.mail.put(input{limits: true})
		}
	}
	e.limits.changed.ring()
}

// keepLimits looks for changed limits until ctx ends.
func (e *Engine) keepLimits(ctx context.Context) {
	for failing := false; ctx.Err() == nil; {
		news := e.fleet.news.rung()
		err := errors.Join(e.obeyLimits(ctx), e.obeySettings(ctx))
		if err != nil && !failing && ctx.Err() == nil {
			e.log.LogAttrs(ctx, slog.LevelWarn, "limits not read, will ask again", slog.Any("error", err))
		}
		failing = err != nil
		pause(ctx, limitsEvery, news)
	}
}

// limit gives a resource other limits.
func (s *share) limit(now int64, r weir.Resource) {
	s.mu.Lock()
	defer s.unlock()
	res := s.resource(r)
	c := s.controlOf(res, r)
	if c.resource == r {
		return
	}
	if c.resource.Rate != r.Rate {
		s.pool.SetRate(now, res, float64(r.Rate))
	}
	if c.resource.Concurrency != r.Concurrency {
		s.pool.SetConcurrency(now, res, r.Concurrency)
	}
	c.resource = r
}

// relimit has the machine work with the limits that hold now.
func (p *part) relimit(now int64) {
	for r := range p.engine.resources() {
		p.machine.SetLimits(now, r)
	}
	p.machine.Reweigh(now)
}

// tenant is what the partition's machine is told of a tenant.
func (p *part) tenant(name string) partition.TenantLimits {
	t := p.engine.tenantLimits(name)
	return partition.TenantLimits{Weight: t.Weight, MaxTasks: t.MaxTasks, Paused: t.Paused}
}
