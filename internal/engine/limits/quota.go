package limits

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/core/limit"
	"github.com/weirhq/weir/internal/core/quota"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/store"
)

// rateQuotaFor is how long the quota of a rate lasts without being renewed. Of a
// concurrency it is the lease's time: what a silent node has in flight is run again then.
const rateQuotaFor = 1200 * time.Millisecond

// sharedLimit is one limit of a resource that all nodes share.
type sharedLimit struct {
	store.Limit
	resource weir.Resource
	chunk    int64 // what a task takes at most
}

// sharedLimits lists the limits of resources, each once. Only a store that several
// processes use has any.
func (c *Control) sharedLimits(resources map[weir.Resource]int) (limits []sharedLimit) {
	if !c.Shared {
		return nil
	}
	for r, most := range resources {
		if r.Rate > 0 {
			items, window := limit.PerWindow(float64(r.Rate))
			chunk := int64(limit.Grain(float64(r.Rate), most))
			limits = append(limits, sharedLimit{store.Limit{Resource: r.Name, Units: items, Window: window}, r, chunk})
		}
		if r.Concurrency > 0 {
			limits = append(limits, sharedLimit{store.Limit{Resource: r.Name, Units: int64(r.Concurrency)}, r, 1})
		}
	}
	return limits
}

// keepQuotas asks for the quotas of the shared limits until ctx ends: a goroutine
// for each limit. It follows limits that appear or change meanwhile.
func (c *Control) keepQuotas(ctx context.Context) {
	if c.Shared {
		c.eachLimit(ctx, c.resources, func(ctx context.Context, l sharedLimit) { newKeeper(c, l).run(ctx) })
	}
}

// eachLimit runs do for every shared limit of some resources until ctx ends, or
// the limit is not there any more.
func (c *Control) eachLimit(ctx context.Context, of func() map[weir.Resource]int, do func(context.Context, sharedLimit)) {
	runs := limitRuns{}
	for ctx.Err() == nil {
		changed := c.changed.Rung()
		limits := c.sharedLimits(of())
		runs.end(limits)
		runs.begin(ctx, limits, do)
		own.Pause(ctx, time.Hour, changed)
	}
	runs.end(nil)
}

// limitRuns are the limits that something runs for.
type limitRuns map[store.Limit]limitRun

type limitRun struct {
	stop  context.CancelFunc
	ended chan struct{}
}

// end stops what runs for other limits than these, and waits for exactly that: it
// gives its quota back before its successor asks for one. The rate and the
// concurrency of a resource end apart from each other.
func (r limitRuns) end(keep []sharedLimit) {
	gone := maps.Clone(r)
	for _, l := range keep {
		delete(gone, l.Limit)
	}
	for l, run := range gone {
		run.stop()
		delete(r, l)
	}
	for _, run := range gone {
		<-run.ended
	}
}

// begin runs do for those of the limits that nothing runs for.
func (r limitRuns) begin(ctx context.Context, limits []sharedLimit, do func(context.Context, sharedLimit)) {
	for _, l := range limits {
		if _, ok := r[l.Limit]; ok {
			continue
		}
		one, stop := context.WithCancel(ctx) //nolint:gosec // stopped by end
		run := limitRun{stop, make(chan struct{})}
		r[l.Limit] = run
		go func() { defer close(run.ended); do(one, l) }()
	}
}

// keeper is this node's side of one limit. It speaks only while the limit is in use.
type keeper struct {
	of       *Control
	limit    store.Limit
	resource weir.Resource // with the limits that this one is a part of
	res      *capacity.Resource
	bell     chan struct{}
	answers  chan answer
	calls    sync.WaitGroup
	keeper   *quota.Keeper
	failing  bool
}

// answer is what the store said to one call.
type answer struct {
	err   error
	quota int64
	draw  bool // it is the answer to a Draw
	after time.Duration
	ok    bool
}

func newKeeper(c *Control, l sharedLimit) *keeper {
	ttl := rateQuotaFor
	if l.Window == 0 {
		ttl = c.LeaseFor
	}
	k := &keeper{
		of: c, limit: l.Limit, resource: l.resource,
		bell: make(chan struct{}, 1), answers: make(chan answer, 2),
		keeper: quota.NewKeeper(l.Limit, c.Node, ttl, l.chunk),
	}
	k.res = c.can.watch(l.resource, k.bell)
	return k
}

// run asks for what is needed until ctx ends, and gives it back then.
func (k *keeper) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	defer k.of.can.unwatch(k.res, k.bell)
	for {
		select {
		case <-ctx.Done():
			k.calls.Wait()
			k.leave(context.WithoutCancel(ctx))
			return
		case <-k.bell:
		case <-timer.C:
		case a := <-k.answers:
			k.take(ctx, a)
		}
		k.next(ctx, timer)
	}
}

// next asks the store for what the keeper wants.
func (k *keeper) next(ctx context.Context, timer *time.Timer) {
	now := time.Now().UnixNano()
	s := k.of.can
	s.Lock()
	a := k.keeper.Next(now, k.view(now))
	k.apply(now)
	s.Unlock()
	if a.Draw > 0 {
		k.call(ctx, func(ctx context.Context) (x answer) {
			x.draw = true
			x.after, x.ok, x.err = k.of.Store.Draw(ctx, k.limit, a.Draw)
			return x
		})
	}
	if a.Hold {
		k.call(ctx, func(ctx context.Context) (x answer) {
			x.quota, x.err = k.of.Store.Hold(ctx, k.limit, a.Holding, a.TTL)
			return x
		})
	}
	timer.Reset(min(max(0, time.Duration(a.Wake-now)), time.Hour))
}

// view is what the keeper has to know. The caller holds the lock of the capacity.
func (k *keeper) view(now int64) quota.View {
	return k.res.Observe(now, k.limit.Window == 0)
}

// outdated reports whether the limit has been changed since: what the store
// answers about it must not be used any more. The caller holds the lock of the capacity.
func (k *keeper) outdated() bool {
	if k.limit.Window == 0 {
		return k.res.Limits().Concurrency != k.resource.Concurrency
	}
	return k.res.Limits().Rate != k.resource.Rate
}

// apply lets the node use what the keeper has. The caller holds the lock of the capacity.
func (k *keeper) apply(now int64) {
	if k.outdated() {
		return
	}
	units, until := k.keeper.Quota()
	if k.limit.Window == 0 {
		k.res.SetSlotQuota(now, units, until)
	} else {
		k.res.SetQuota(now, units, until)
	}
}

// call asks the store beside the loop. There is room for every answer.
func (k *keeper) call(ctx context.Context, ask func(context.Context) answer) {
	k.calls.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, rateQuotaFor/3)
		defer cancel()
		k.answers <- ask(ctx)
	})
}

// take tells the keeper what the store said.
func (k *keeper) take(ctx context.Context, a answer) {
	k.complain(ctx, a.err)
	now := time.Now().UnixNano()
	s := k.of.can
	s.Lock()
	defer s.Unlock()
	if !a.draw {
		k.keeper.Held(now, a.quota, a.err)
		k.apply(now)
		return
	}
	if units, from, until, ok := k.keeper.Drew(now, a.after, a.ok, a.err); ok && !k.outdated() {
		k.res.Permit(units, from, until)
	}
}

// complain logs that the store does not answer, once for each time that it begins.
func (k *keeper) complain(ctx context.Context, err error) {
	if err != nil && !k.failing && ctx.Err() == nil {
		k.of.Log.LogAttrs(ctx, slog.LevelWarn, "quota not asked for, will ask again",
			slog.String("resource", k.limit.Resource), slog.Any("error", err))
	}
	k.failing = err != nil
}

// leave gives everything back. If that fails, it ends by itself.
func (k *keeper) leave(ctx context.Context) {
	now := time.Now().UnixNano()
	s := k.of.can
	s.Lock()
	h, speak := k.keeper.Leave(k.view(now))
	k.apply(now)
	s.Unlock()
	if speak {
		ctx, cancel := context.WithTimeout(ctx, rateQuotaFor/3)
		defer cancel()
		_, _ = k.of.Store.Hold(ctx, k.limit, h, 0)
	}
}
