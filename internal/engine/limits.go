package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/store"
)

const (
	limitsRecord = "limits"
	maxLimited   = 10_000 // tenants with settings of their own: all nodes hold them in memory
)

// storedLimits is the record of what operators have set. Each change has a higher version.
type storedLimits struct {
	Version uint64 `json:"version"`
	weir.Limits
}

// Limits is what operators have set of resources and tenants.
func (o *Operator) Limits(ctx context.Context) (weir.Limits, error) {
	l, _, err := o.limits(ctx)
	return l.Limits, err
}

func (o *Operator) limits(ctx context.Context) (l storedLimits, raw []byte, err error) {
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

// SetLimits changes what resources and tenants may use, on all nodes, also for
// work that runs. When it returns, the change is in force: every node keeps to it
// or starts nothing. Nothing changes if the result cannot be used.
func (o *Operator) SetLimits(ctx context.Context, change func(*weir.Limits)) error {
	return o.ChangeLimits(ctx, func(l *weir.Limits) error { change(l); return nil })
}

// ChangeLimits is [Operator.SetLimits] with a change that may refuse, having
// seen what is there. It is called again if another change was faster.
func (o *Operator) ChangeLimits(ctx context.Context, change func(*weir.Limits) error) error {
	version, err := o.writeLimits(ctx, change)
	if err != nil {
		return err
	}
	written := time.Now()
	if o.obey != nil {
		if err := o.obey(ctx); err != nil || !sharedStore(o.store) {
			return err // the engine of this process is the only one
		}
	}
	return o.awaitLimits(ctx, version, written)
}

// writeLimits stores a change and returns its version. A change that changes
// nothing has the version of what is there.
func (o *Operator) writeLimits(ctx context.Context, change func(*weir.Limits) error) (version uint64, err error) {
	for {
		l, old, err := o.limits(ctx)
		if err != nil {
			return 0, err
		}
		was := l.Version
		raw, err := l.changed(change)
		if err != nil || l.Version == was {
			return was, err
		}
		now, err := o.store.Swap(ctx, limitsRecord, old, raw)
		if err != nil {
			return 0, fmt.Errorf("write limits: %w", err)
		}
		if !bytes.Equal(now, raw) {
			continue // another change was faster
		}
		_ = own.TellLimits(ctx, o.store) // else they find out by themselves
		return l.Version, nil
	}
}

// changed applies a change and returns the record of it, with the next version
// if anything is different.
func (l *storedLimits) changed(change func(*weir.Limits) error) ([]byte, error) {
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
	if err := checkLimitsSet(&l.Limits); err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}
	raw, err := json.Marshal(l)
	if err != nil || bytes.Equal(raw, before) {
		return raw, err
	}
	l.Version++
	return json.Marshal(l)
}

func checkLimitsSet(l *weir.Limits) error {
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
			bad.Add("out_of_range", "resources."+name+".rate", fmt.Sprintf("%v is not between 0 and 1e9 a second", *r.Rate), "0 is unlimited")
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

// limitSet is what this node knows of the resources' and tenants' limits.
type limitSet struct {
	reading sync.Mutex // one at a time reads the limits and has them kept

	mu      sync.Mutex
	raw     []byte                // of what operators have set, as last read
	set     storedLimits          // the same
	bounded map[string]bool       // tenants that have a bound on their pending items; never changed
	known   map[string]*knownStep // by resource: what the steps that use it say
	foreign map[string]*knownStep // by resource: what other nodes use, as far as this one has to know
	changed own.Bell              // rung when a resource is new or has other limits

	until atomic.Pointer[time.Time] // until when what was read certainly holds
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
		l.changed.Ring()
		e.counts.KnowResource(s.Resource.Name)
	}
	k.batch = max(k.batch, s.BatchSize)
}

// effective is a resource with the limits that hold now.
func (l *limitSet) effective(r weir.Resource) weir.Resource {
	return l.set.Resource(r)
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

// InForce returns a resource with the limits that this node keeps to now.
func (e *Engine) InForce(r weir.Resource) weir.Resource {
	return e.limited(weir.Step{Resource: r}).Resource
}

// tenantLimits is what a tenant may use.
func (e *Engine) tenantLimits(name string) weir.TenantLimits {
	e.limits.mu.Lock()
	defer e.limits.mu.Unlock()
	return e.limits.set.Tenant(name)
}

// resources are the known ones, each with the largest batch of the steps that use it.
func (e *Engine) resources() map[weir.Resource]int {
	e.limits.mu.Lock()
	defer e.limits.mu.Unlock()
	return e.limits.batches(e.limits.known)
}

// allResources are those of this node and, on a leader, those of the others.
func (e *Engine) allResources() map[weir.Resource]int {
	l := &e.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	all := maps.Clone(l.foreign)
	if all == nil {
		all = map[string]*knownStep{}
	}
	maps.Copy(all, l.known)
	return l.batches(all)
}

func (l *limitSet) batches(steps map[string]*knownStep) map[weir.Resource]int {
	batch := make(map[weir.Resource]int, len(steps))
	for _, k := range steps {
		batch[l.effective(k.resource)] = k.batch
	}
	return batch
}

// learnOthers notes the resources that other nodes use: a leader divides their
// limits, whether or not it has seen work of them.
func (e *Engine) learnOthers(nodes []weir.Node) {
	others := map[string]*knownStep{}
	for i := range nodes {
		n := &nodes[i]
		for j := range n.Resources {
			u := &n.Resources[j]
			others[u.Name] = &knownStep{resource: weir.Resource{Name: u.Name, Rate: weir.Rate(u.Rate),
				Concurrency: u.Concurrency, Pacing: u.Pacing}, batch: 1}
		}
		for j := range n.Lanes {
			if k := others[n.Lanes[j].ID.Resource]; k != nil {
				k.batch = max(k.batch, n.Lanes[j].Chunk)
			}
		}
	}
	l := &e.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	same := maps.EqualFunc(l.foreign, others, func(a, b *knownStep) bool { return *a == *b })
	if l.foreign = others; !same {
		l.changed.Ring()
	}
}

// obeyLimits reads what operators have set, and has it kept if it has changed.
func (e *Engine) obeyLimits(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.opts.LeaseFor/3)
	defer cancel()
	l := &e.limits
	l.reading.Lock()
	defer l.reading.Unlock()
	set, raw, err := e.ops.limits(ctx)
	if err != nil {
		return err
	}
	if set.Version < l.version() {
		return e.restoreLimits(ctx, raw)
	}
	l.mu.Lock()
	same := bytes.Equal(raw, l.raw)
	l.raw, l.set = raw, set
	if !same {
		l.bounded = boundedOf(&set.Limits)
	}
	l.mu.Unlock()
	if !same {
		e.applyLimits()
	}
	return nil
}

// restoreLimits puts back what a store has forgotten that went back in time.
func (e *Engine) restoreLimits(ctx context.Context, there []byte) error {
	e.limits.mu.Lock()
	mine := e.limits.raw
	e.limits.mu.Unlock()
	if _, err := e.store.Swap(ctx, limitsRecord, there, mine); err != nil {
		return fmt.Errorf("put back limits: %w", err)
	}
	return nil
}

// version is that of the limits which this node keeps to.
func (l *limitSet) version() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.set.Version
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

// applyLimits hands the current limits to the capacity of this node and to every partition.
func (e *Engine) applyLimits() {
	now := time.Now().UnixNano()
	e.share.do(func(n *capacity.Node) {
		for r := range e.resources() {
			n.SetLimits(now, r)
		}
	})
	for i := range e.parts {
		if p := e.parts[i].Load(); p != nil {
			p.mail.put(input{limits: true})
		}
	}
	e.limits.changed.Ring()
}

// relimit has the machine work with the limits that hold now.
func (p *part) relimit(now int64) {
	for r := range p.engine.resources() {
		p.machine.SetLimits(now, r)
	}
	p.machine.Reweigh(now)
}

// tenant is what the partition's machine is told of a tenant.
func (p *part) tenant(name string) capacity.TenantLimits {
	t := p.engine.tenantLimits(name)
	return capacity.TenantLimits{Weight: t.Weight, MaxTasks: t.MaxTasks, Paused: t.Paused}
}
