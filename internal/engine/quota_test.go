package engine_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
	"github.com/weirhq/weir/store/storetest"
)

// several is a store in memory that counts as one that several processes use.
type several struct{ *memstore.Store }

func (several) Shared() bool { return true }

// nodes starts engines that share a store, and waits until they have shared out the partitions.
func nodes(t *testing.T, s store.Store, n int, a weir.Action[int, string]) (rigs []*rig) {
	t.Helper()
	for range n {
		rigs = append(rigs, start(t, s, engine.Options{Partitions: 12, LeaseFor: 3 * time.Second}, action(a)))
	}
	time.Sleep(time.Second)
	return rigs
}

func stopAll(t *testing.T, rigs []*rig) {
	t.Helper()
	for _, r := range rigs {
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	}
}

// between is how many items were sent in a span.
func (l *ledger) between(from, to time.Time) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range l.times {
		if !x.Before(from) && x.Before(to) {
			n++
		}
	}
	return n
}

func TestNodesShareARateExactlyWhileOneStopsAndAnotherStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate = 500
		var l ledger
		a := noted("limited", &l, 10*time.Millisecond)
		a.Resource.Rate = weir.PerSecond(rate)
		s := several{memory()}
		three := nodes(t, s, 3, a)
		tenants(t, three[0], a, 30, 1500)
		began := time.Now()
		time.Sleep(20 * time.Second)
		if err := three[1].stop(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		three = append(three, nodes(t, s, 1, a)...)
		time.Sleep(30 * time.Second)
		if use := float64(l.between(began, time.Now())) / rate / time.Since(began).Seconds(); use < 0.97 {
			t.Errorf("%.3f of the rate was used, want at least 0.97", use)
		}
		steady := began.Add(5 * time.Second)
		if use := float64(l.between(steady, steady.Add(15*time.Second))) / rate / 15; use < 0.99 {
			t.Errorf("%.3f of the rate was used before anything happened, want at least 0.99", use)
		}
		stopAll(t, three)
		if most := l.busiest(time.Second); most > rate {
			t.Errorf("%d items were sent within a second, the limit is %d", most, rate)
		}
	})
}

func TestARateHoldsOnAStoreThatFailsNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate = 500
		var l ledger
		a := noted("limited", &l, 10*time.Millisecond)
		a.Resource.Rate = weir.PerSecond(rate)
		var calls atomic.Int64
		s := &storetest.Flaky{Store: several{memory()}, Fail: func(c storetest.Call) (f storetest.Fault) {
			if slices.Contains([]storetest.Op{storetest.OpHold, storetest.OpDraw, storetest.OpHoldings, storetest.OpSetTargets}, c.Op) {
				n := calls.Add(1)
				f.Delay = time.Duration(n%7) * time.Millisecond
				f.Lost = n%5 == 0
			}
			return f
		}}
		three := nodes(t, s, 3, a)
		tenants(t, three[0], a, 30, 1500)
		began := time.Now()
		time.Sleep(20 * time.Second)
		if use := float64(l.between(began, time.Now())) / rate / 20; use < 0.9 {
			t.Errorf("%.3f of the rate was used, want at least 0.9", use)
		}
		stopAll(t, three)
		if most := l.busiest(time.Second); most > rate {
			t.Errorf("%d items were sent within a second, the limit is %d", most, rate)
		}
	})
}

func TestANodeThatIsCutOffStopsUsingTheRateAndOthersHaveIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate = 500
		var own, others ledger
		limited := func(l *ledger) weir.Action[int, string] {
			a := noted("limited", l, 10*time.Millisecond)
			a.Resource.Rate = weir.PerSecond(rate)
			return a
		}
		var cut atomic.Bool
		s := several{memory()}
		gone := nodes(t, &storetest.Flaky{Store: s, Fail: func(storetest.Call) (f storetest.Fault) {
			if cut.Load() {
				f.Before = errStore
			}
			return f
		}}, 1, limited(&own))
		rigs := append(gone, nodes(t, s, 2, limited(&others))...)
		tenants(t, rigs[1], limited(&others), 30, 1500)
		time.Sleep(10 * time.Second)
		cut.Store(true)
		at := time.Now()
		time.Sleep(20 * time.Second)
		if n := own.between(at.Add(1500*time.Millisecond), time.Now()); n > 0 {
			t.Errorf("%d items were sent by a node that nobody has heard of for 1.5 s", n)
		}
		if use := float64(others.between(at.Add(4*time.Second), time.Now())) / rate / 16; use < 0.97 {
			t.Errorf("the others used %.3f of the rate from 4 s later on, want at least 0.97", use)
		}
		stopAll(t, rigs[1:])
		cut.Store(false)
		stopAll(t, gone)
		others.times = append(others.times, own.times...)
		if most := others.busiest(time.Second); most > rate {
			t.Errorf("%d items were sent within a second, the limit is %d", most, rate)
		}
	})
}

func TestWorkOnAnIdleSharedRateStartsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		a := noted("limited", &l, time.Millisecond)
		a.Resource.Rate = weir.PerSecond(500)
		three := nodes(t, several{memory()}, 3, a)
		time.Sleep(time.Minute)
		for i := range 3 {
			began := time.Now()
			wait(t, submit(t, three[i], spec(a), numbers(5)))
			if took := l.times[len(l.times)-1].Sub(began); took > 5*time.Millisecond {
				t.Errorf("the first task started after %v, want at once", took)
			}
		}
	})
}

func TestNodesShareAConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		a := noted("limited", &l, 100*time.Millisecond)
		a.BatchSize = 1
		a.Resource.Concurrency = 10
		s := several{memory()}
		three := nodes(t, s, 3, a)
		tenants(t, three[0], a, 30, 1000)
		began := time.Now()
		time.Sleep(10 * time.Second)
		if err := three[1].stop(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		if n := l.between(began, time.Now()); n < 2850 {
			t.Errorf("%d tasks of 100 ms started in 30 s, 10 at once: want nearly 3000", n)
		}
		stopAll(t, three)
		if l.most != 10 {
			t.Errorf("at most %d tasks ran at once, want 10", l.most)
		}
	})
}
