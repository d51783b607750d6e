package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/limit"
	"github.com/weirhq/weir/internal/quota"
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

// sharedLimits lists the limits of the registered resources, each once. Only a
// store that several processes use has any.
func (e *Engine) sharedLimits() (limits []sharedLimit) {
	if !e.shared() {
		return nil
	}
	for r, most := range e.resources() {
		if r.Rate > 0 {
			items, window := limit.PerWindow(float64(r.Rate))
			chunk := int64(limit.Chunk(float64(r.Rate), most))
			limits = append(limits, sharedLimit{store.Limit{Resource: r.Name, Units: items, Window: window}, r, chunk})
		}
		if r.Concurrency > 0 {
			limits = append(limits, sharedLimit{store.Limit{Resource: r.Name, Units: int64(r.Concurrency)}, r, 1})
		}
	}
	return limits
}

// shareLimits has nothing start on the shared limits without a quota, and returns
// what asks for quotas until its context ends: a goroutine for each limit.
// Limits that appear or change meanwhile are followed.
func (e *Engine) shareLimits() (keep func(context.Context)) {
	if !e.shared() {
		return func(context.Context) {}
	}
	keepers := map[store.Limit]*limitKeeper{}
	for _, l := range e.sharedLimits() {
		keepers[l.Limit] = newLimitKeeper(e, l)
	}
	return func(ctx context.Context) {
		eachLimit(ctx, e, func(ctx context.Context, l sharedLimit) {
			k := keepers[l.Limit]
			if delete(keepers, l.Limit); k == nil {
				k = newLimitKeeper(e, l)
			}
			k.run(ctx)
		})
	}
}

// eachLimit runs do for every shared limit until ctx ends, or the limit is not there any more.
func eachLimit(ctx context.Context, e *Engine, do func(context.Context, sharedLimit)) {
	var running sync.WaitGroup
	defer running.Wait()
	stops := map[store.Limit]context.CancelFunc{}
	ended := map[string]*sync.WaitGroup{} // by resource and kind: what was stopped says goodbye before its successor speaks
	for ctx.Err() == nil {
		changed := e.limits.changed.rung()
		now := map[store.Limit]sharedLimit{}
		for _, l := range e.sharedLimits() {
			now[l.Limit] = l
		}
		for l, stop := range stops {
			if _, ok := now[l]; !ok {
				stop()
				delete(stops, l)
				ended[l.Resource].Wait()
			}
		}
		for l, shared := range now {
			if stops[l] != nil {
				continue
			}
			one, stop := context.WithCancel(ctx) //nolint:gosec // stopped when the limit goes, or with ctx
			stops[l] = stop
			if ended[l.Resource] == nil {
				ended[l.Resource] = &sync.WaitGroup{}
			}
			of := ended[l.Resource]
			of.Add(1)
			running.Go(func() { defer of.Done(); do(one, shared) })
		}
		pause(ctx, time.Hour, changed)
	}
	for _, stop := range stops {
		stop()
	}
}

// limitKeeper is this node's side of one limit. It speaks only while the limit is in use.
type limitKeeper struct {
	engine  *Engine
	store   store.Quotas
	limit   store.Limit
	res     *limit.PoolResource
	bell    chan struct{}
	answers chan answer
	calls   sync.WaitGroup
	keeper  *quota.Keeper
	failing bool
}

// answer is what the store said to one call.
type answer struct {
	err   error
	quota int64
	draw  bool // it is the answer to a Draw
	after time.Duration
	ok    bool
}

func newLimitKeeper(e *Engine, l sharedLimit) *limitKeeper {
	ttl := rateQuotaFor
	if l.Window == 0 {
		ttl = e.opts.LeaseFor
	}
	k := &limitKeeper{
		engine: e, store: e.store, limit: l.Limit,
		bell: make(chan struct{}, 1), answers: make(chan answer, 2),
		keeper: quota.NewKeeper(l.Limit, e.node, ttl, l.chunk),
	}
	k.res = e.share.watch(l.resource, k.bell)
	return k
}

// run asks for what is needed until ctx ends, and gives it back then.
func (k *limitKeeper) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
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
func (k *limitKeeper) next(ctx context.Context, timer *time.Timer) {
	now := time.Now().UnixNano()
	s := k.engine.share
	s.mu.Lock()
	a := k.keeper.Next(now, k.view(now))
	k.apply(now)
	s.unlock()
	if a.Draw > 0 {
		k.call(ctx, func(ctx context.Context) (x answer) {
			x.draw = true
			x.after, x.ok, x.err = k.store.Draw(ctx, k.limit, a.Draw)
			return x
		})
	}
	if a.Hold {
		k.call(ctx, func(ctx context.Context) (x answer) {
			x.quota, x.err = k.store.Hold(ctx, k.limit, a.Holding, a.TTL)
			return x
		})
	}
	timer.Reset(untilWake(now, a.Wake))
}

// view is what the keeper has to know. The caller holds the pool.
func (k *limitKeeper) view(now int64) quota.View {
	u := k.engine.share.pool.Observe(now, k.res)
	v := quota.View{Used: u.Used, Busy: u.Busy, Short: u.Short, Cost: u.Cost, Weight: u.Weight, Permit: u.Permit}
	if k.limit.Window == 0 {
		v.Used, v.Short = int64(u.InFlight), u.Cramped
	}
	return v
}

// apply lets the lanes use what the keeper has. The caller holds the pool.
func (k *limitKeeper) apply(now int64) {
	p := k.engine.share.pool
	units, until := k.keeper.Quota()
	if k.limit.Window == 0 {
		p.SetSlotQuota(now, k.res, units, until)
	} else {
		p.SetQuota(now, k.res, units, until)
	}
}

// call asks the store beside the loop. There is room for every answer.
func (k *limitKeeper) call(ctx context.Context, ask func(context.Context) answer) {
	k.calls.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, rateQuotaFor/3)
		defer cancel()
		k.answers <- ask(ctx)
	})
}

// take tells the keeper what the store said.
func (k *limitKeeper) take(ctx context.Context, a answer) {
	k.complain(ctx, a.err)
	now := time.Now().UnixNano()
	s := k.engine.share
	s.mu.Lock()
	defer s.unlock()
	if !a.draw {
		k.keeper.Held(now, a.quota, a.err)
		k.apply(now)
		return
	}
	if units, from, until, ok := k.keeper.Drew(now, a.after, a.ok, a.err); ok {
		s.pool.Permit(now, k.res, units, from, until)
	}
}

// complain logs that the store does not answer, once for each time that it begins.
func (k *limitKeeper) complain(ctx context.Context, err error) {
	if err != nil && !k.failing && ctx.Err() == nil {
		k.engine.log.LogAttrs(ctx, slog.LevelWarn, "quota not asked for, will ask again",
			slog.String("resource", k.limit.Resource), slog.Any("error", err))
	}
	k.failing = err != nil
}

// leave gives everything back. If that fails, it ends by itself.
func (k *limitKeeper) leave(ctx context.Context) {
	now := time.Now().UnixNano()
	s := k.engine.share
	s.mu.Lock()
	h, speak := k.keeper.Leave(k.view(now))
	k.apply(now)
	s.unlock()
	if speak {
		ctx, cancel := context.WithTimeout(ctx, rateQuotaFor/3)
		defer cancel()
		_, _ = k.store.Hold(ctx, k.limit, h, 0)
	}
}
