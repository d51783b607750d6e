package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/storetest"
)

// cuttable is three nodes on one store, each of which can be cut off from it.
type cuttable struct {
	rigs [3]*rig
	cut  [3]atomic.Bool
}

func startCuttable(t *testing.T, a weir.Action[int, string]) *cuttable {
	t.Helper()
	c, s := &cuttable{}, several{memory()}
	for i := range c.rigs {
		own := &storetest.Flaky{Store: s, Fail: func(storetest.Call) (f storetest.Fault) {
			if c.cut[i].Load() {
				f.Before = errStore
			}
			return f
		}}
		c.rigs[i] = start(t, own, engine.Options{Partitions: 12, Slots: 64}, action(a))
	}
	time.Sleep(time.Second)
	return c
}

// leader is the node that leads.
func (c *cuttable) leader(t *testing.T) int {
	t.Helper()
	for i, r := range c.rigs {
		nodes, err := r.Operator().Nodes(t.Context())
		must(t, err)
		for _, n := range nodes {
			if n.Leads && n.Name == r.Name() {
				return i
			}
		}
	}
	t.Fatal("no node leads")
	return 0
}

// set has a node that is not cut off change the limits of the resource.
func (c *cuttable) set(t *testing.T, l weir.ResourceLimits) {
	t.Helper()
	for i, r := range c.rigs {
		if !c.cut[i].Load() {
			must(t, r.Operator().SetLimits(t.Context(), func(all *weir.Limits) { all.Resources["limited"] = l }))
			return
		}
	}
}

func (c *cuttable) stop(t *testing.T) {
	t.Helper()
	for i, r := range c.rigs {
		c.cut[i].Store(false)
		must(t, r.stop())
	}
}

// The leader is cut off before, while and after the limit is lowered, for longer than its lease lasts.
func TestALoweredRateIsInForceWhenTheChangeIsAnswered(t *testing.T) {
	for _, from := range []weir.Rate{0, 2000} {
		for _, moment := range []time.Duration{-500 * time.Millisecond, -time.Millisecond, 5 * time.Millisecond, 300 * time.Millisecond} {
			t.Run(fmt.Sprint("from ", from, " leader cut off after ", moment), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var l ledger
					a := noted("limited", &l, 100*time.Millisecond)
					a.BatchSize, a.Resource.Rate = 5, from
					c := startCuttable(t, a)
					tenants(t, c.rigs[0], a, 30, 5000)
					time.Sleep(3 * time.Second)
					cut := &c.cut[c.leader(t)]
					const low = 500
					rate := weir.PerSecond(low)
					time.AfterFunc(max(moment, 0), func() { cut.Store(true) })
					time.Sleep(max(-moment, time.Millisecond))
					asked := time.Now()
					c.set(t, weir.ResourceLimits{Rate: &rate})
					answered := time.Now()
					if took := answered.Sub(asked); took > engine.LimitsWithin+100*time.Millisecond {
						t.Errorf("answered after %v, want %v at most", took, engine.LimitsWithin)
					}
					if n := l.between(asked.Add(-time.Second), asked); n <= low {
						t.Errorf("%d items were sent in the second before, want more than %d", n, low)
					}
					time.Sleep(15 * time.Second)
					var after ledger
					l.mu.Lock()
					for _, at := range l.times {
						if !at.Before(answered) {
							after.times = append(after.times, at)
						}
					}
					l.mu.Unlock()
					if most := after.busiest(time.Second); most > low {
						t.Errorf("%d items were sent within a second after the answer, the limit is %d", most, low)
					}
					if n := after.between(answered.Add(5*time.Second), answered.Add(15*time.Second)); n < low*10*8/10 {
						t.Errorf("%d items were sent in 10 s at %d/s, want at least 80 %%", n, low)
					}
					c.stop(t)
				})
			})
		}
	}
}

func TestALoweredConcurrencyIsInForceWhenTheChangeIsAnswered(t *testing.T) {
	for _, from := range []int{0, 60} {
		t.Run(fmt.Sprint("from ", from), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const low = 6
				var running, over, since atomic.Int64
				var inForce atomic.Bool
				a := weir.Action[int, string]{
					Name: "limited", BatchSize: 1, Resource: weir.Resource{Concurrency: from},
					Handle: func(_ context.Context, b *weir.Batch[int, string]) error {
						n := running.Add(1)
						defer running.Add(-1)
						if inForce.Load() {
							since.Add(1)
							over.Store(max(over.Load(), n-low))
						}
						time.Sleep(200 * time.Millisecond)
						b.DoneRest()
						return nil
					},
				}
				c := startCuttable(t, a)
				tenants(t, c.rigs[0], a, 30, 2000)
				time.Sleep(3 * time.Second)
				if n := running.Load(); n <= low {
					t.Errorf("%d tasks run before, want more than %d", n, low)
				}
				c.cut[c.leader(t)].Store(true)
				time.Sleep(300 * time.Millisecond)
				few := low
				c.set(t, weir.ResourceLimits{Concurrency: &few})
				inForce.Store(true)
				time.Sleep(30 * time.Second)
				if n := over.Load(); n > 0 {
					t.Errorf("a task was started beside %d others, the limit is %d", low+n-1, low)
				}
				if since.Load() == 0 {
					t.Error("nothing was started any more")
				}
				c.stop(t)
			})
		})
	}
}

// A node whose reads of the limits fail starts nothing once they may have been changed.
func TestANodeThatCannotReadTheLimitsStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		a := oneByOne(&calls)
		var away atomic.Bool
		s := &storetest.Flaky{Store: several{memory()}, Fail: func(c storetest.Call) (f storetest.Fault) {
			if c.Op == storetest.OpLookup && away.Load() {
				f.Before = errStore
			}
			return f
		}}
		r := start(t, s, engine.Options{}, action(a))
		b := submit(t, r, spec(a), numbers(1000))
		time.Sleep(10 * time.Second)
		away.Store(true)
		time.Sleep(engine.LimitsWithin)
		before := calls.sum()
		time.Sleep(time.Minute)
		if after := calls.sum(); after > before+10 {
			t.Errorf("%d items were started by limits that may have been changed", after-before)
		}
		away.Store(false)
		wantCounts(t, wait(t, b), 1000, 0, 0)
	})
}

// A store that has gone back in time gets the newest limits back from the nodes.
func TestLimitsThatTheStoreHasForgottenArePutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := several{memory()}
		r := start(t, s, engine.Options{}, action(noop("limited")))
		rate := weir.PerSecond(10)
		old, err := s.Lookup(t.Context(), "limits")
		if err == nil {
			t.Fatalf("there are limits: %s", old)
		}
		must(t, r.Operator().SetLimits(t.Context(), func(l *weir.Limits) { l.Resources["limited"] = weir.ResourceLimits{Rate: &rate} }))
		set, err := s.Lookup(t.Context(), "limits")
		must(t, err)
		_, err = s.Swap(t.Context(), "limits", set, nil)
		must(t, err)
		time.Sleep(time.Second)
		if back, err := s.Lookup(t.Context(), "limits"); err != nil || string(back) != string(set) {
			t.Errorf("the limits are %s, %v; want %s", back, err, set)
		}
	})
}

// A leader divides the limit of a resource that only others use: a node that
// joins them gets its share, and is not left to draw single permits.
func TestALeaderDividesTheLimitsOfResourcesItHasNoWorkOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := several{memory()}
		leads := start(t, s, engine.Options{Partitions: 4, LeaseFor: 3 * time.Second}, action(noop("other")))
		time.Sleep(time.Second)
		var l ledger
		a := noted("limited", &l, 10*time.Millisecond)
		a.Resource.Rate = weir.PerSecond(500)
		works := start(t, s, engine.Options{Partitions: 4, LeaseFor: 3 * time.Second}, action(a))
		time.Sleep(time.Second)
		tenants(t, works, a, 8, 2000)
		limit := store.Limit{Resource: "limited", Units: 500, Window: time.Second}
		var held int64
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			all, err := s.Holdings(t.Context(), limit)
			must(t, err)
			for _, h := range all {
				held = max(held, h.Held-h.Used)
			}
		}
		if held <= 0 {
			t.Error("the node that works was never given a quota")
		}
		must(t, works.stop())
		must(t, leads.stop())
	})
}
