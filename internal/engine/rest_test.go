package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/storetest"
)

// restful counts what nodes ask of their store beside their inboxes and the renewals of leases.
type restful struct {
	several
	calls *atomic.Int64
}

func (s restful) CheckIn(ctx context.Context, topic string, r store.Record, ttl time.Duration, names ...string) (store.Attendance, error) {
	s.calls.Add(1)
	return s.several.CheckIn(ctx, topic, r, ttl, names...)
}

func (s restful) Announce(ctx context.Context, topic string, r store.Record, ttl time.Duration) error {
	s.calls.Add(1)
	return s.several.Announce(ctx, topic, r, ttl)
}

func (s restful) Announced(ctx context.Context, topic string) ([]store.Record, error) {
	s.calls.Add(1)
	return s.several.Announced(ctx, topic)
}

func (s restful) Lookup(ctx context.Context, name string) ([]byte, error) {
	s.calls.Add(1)
	return s.several.Lookup(ctx, name)
}

func (s restful) Acquire(ctx context.Context, p int, owner string, ttl time.Duration) (store.Token, error) {
	s.calls.Add(1)
	return s.several.Acquire(ctx, p, owner, ttl)
}

func (s restful) Last(ctx context.Context, p int) (store.Last, error) {
	s.calls.Add(1)
	return s.several.Last(ctx, p)
}

func (s restful) Holdings(ctx context.Context, l store.Limit) ([]store.Holding, error) {
	s.calls.Add(1)
	return s.several.Holdings(ctx, l)
}

func (s restful) Hold(ctx context.Context, l store.Limit, h store.Holding, ttl time.Duration) (int64, error) {
	s.calls.Add(1)
	return s.several.Hold(ctx, l, h, ttl)
}

func limited() weir.Action[int, string] {
	a := noop("limited")
	a.Resource.Rate, a.Resource.Concurrency = weir.PerSecond(500), 8
	return a
}

func TestNodesAtRestHardlyAskTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := restful{several{memory()}, &atomic.Int64{}}
		a := limited()
		var three []*rig
		for range 3 {
			three = append(three, start(t, s, engine.Options{Partitions: 64}, action(a)))
		}
		for _, when := range []string{"after the start", "after work"} {
			time.Sleep(20 * time.Second)
			s.calls.Store(0)
			time.Sleep(time.Minute)
			if got := float64(s.calls.Load()) / 60 / 3; got > 2 {
				t.Errorf("%s: %.1f calls per node and second, want 2 at most", when, got)
			}
			wait(t, submit(t, three[1], spec(a), numbers(2000)))
		}
	})
}

func TestANodeThatDiesAtRestIsReplacedWithinItsLeaseAndHalfASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cut atomic.Bool
		s, a, o := several{memory()}, limited(), engine.Options{Partitions: 12, LeaseFor: 3 * time.Second}
		lost := start(t, flakySeveral{&storetest.Flaky{Store: s, Fail: func(storetest.Call) (f storetest.Fault) {
			if cut.Load() {
				f.Before = errStore
			}
			return f
		}}}, o, action(a))
		two := nodes(t, s, 2, a)
		for _, after := range []time.Duration{20 * time.Second, 20*time.Second + 310*time.Millisecond, 21 * time.Second} {
			time.Sleep(after)
			wantOwned(t, 12, append(two, lost)...)
			cut.Store(true)
			time.Sleep(3*time.Second + 500*time.Millisecond)
			wantOwned(t, 12, two...)
			time.Sleep(time.Second) // the leader's lease is asked for every quarter of a lease, and announced with the next look
			known, err := two[0].Operator().Nodes(t.Context())
			must(t, err)
			leads := 0
			for _, n := range known {
				if n.Leads && n.Name != lost.Name() {
					leads++
				}
			}
			if leads != 1 {
				t.Errorf("%d of the nodes that are left lead, want 1", leads)
			}
			wait(t, submit(t, two[0], spec(a), numbers(10)))
			cut.Store(false)
			time.Sleep(time.Second)
		}
	})
}

func TestALimitChangedAtRestIsInForceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := limited()
		three := nodes(t, several{memory()}, 3, a)
		time.Sleep(20 * time.Second)
		rate := weir.PerSecond(7)
		began := time.Now()
		must(t, three[0].Operator().SetLimits(t.Context(), func(l *weir.Limits) {
			l.Resources["limited"] = weir.ResourceLimits{Rate: &rate}
		}))
		if took := time.Since(began); took > 50*time.Millisecond {
			t.Errorf("answered after %v, want a few round trips", took)
		}
		for i, r := range three {
			if got := r.InForce(weir.Resource{Name: "limited"}).Rate; got != rate {
				t.Errorf("node %d keeps to %v, want %v", i, got, rate)
			}
		}
	})
}

func TestWorkAfterARestStartsWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, limit := range map[string]func(*weir.Resource){
			"rate":        func(r *weir.Resource) { r.Rate = weir.PerSecond(500) },
			"concurrency": func(r *weir.Resource) { r.Concurrency = 9 },
		} {
			var l ledger
			a := noted("limited", &l, time.Millisecond)
			limit(&a.Resource)
			three := nodes(t, several{memory()}, 3, a)
			for i := range three {
				time.Sleep(20 * time.Second)
				began := time.Now()
				wait(t, submit(t, three[i], spec(a), numbers(5)))
				if took := l.times[len(l.times)-1].Sub(began); took > time.Second {
					t.Errorf("%s: the last task started after %v, want a second at most", name, took)
				}
			}
			stopAll(t, three)
		}
	})
}
