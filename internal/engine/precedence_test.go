package engine_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store/storetest"
)

// reached is one node's connection to a store that can be set back.
type reached struct {
	*awayMachine
	away atomic.Bool
}

func reach(s *timeMachine) *reached {
	r := &reached{}
	r.awayMachine = &awayMachine{machine: s, Flaky: &storetest.Flaky{Store: s, Fail: func(storetest.Call) storetest.Fault {
		if r.away.Load() {
			return storetest.Fault{Before: errStore}
		}
		return storetest.Fault{}
	}}}
	return r
}

// TestALivingOwnerHasPrecedenceAfterAFailover has the store fail over for longer than
// a lease and come back set back by a second. Another node reaches it first.
func TestALivingOwnerHasPrecedenceAfterAFailover(t *testing.T) {
	const lease = 3 * time.Second
	for _, tt := range []struct {
		name       string
		away, late time.Duration // how long the store is away for all, and how much later the owner reaches it
	}{
		{"a moment after the other's doubt", lease + time.Second, lease + 400*time.Millisecond},
		{"a moment after the lease has run out", lease/2 - 250*time.Millisecond, lease/2 + 400*time.Millisecond},
		{"nearly as late as it may", lease + time.Second, 9 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls tally
				s := newTimeMachine()
				toA, toB := reach(s), reach(s)
				o := engine.Options{Partitions: 4, Slots: 2, LeaseFor: lease}
				a := start(t, toA, o, action(paced(&calls)))
				b := start(t, toB, o, action(paced(&calls)))
				time.Sleep(15 * time.Second) // both have their partitions
				var all []*engine.BulkAction
				for i := range 20 {
					sp := spec(paced(&calls))
					sp.Tenant = fmt.Sprint("tenant ", i)
					all = append(all, submit(t, b, sp, numbers(200 * (i + 1))[200*i:]))
				}
				time.Sleep(2 * time.Second)
				moment := s.Save()
				time.Sleep(time.Second)
				toA.away.Store(true)
				toB.away.Store(true)
				time.Sleep(tt.away)
				s.Restore(moment)
				toB.away.Store(false)
				time.Sleep(tt.late)
				toA.away.Store(false)
				time.Sleep(30 * time.Second)
				if err := errors.Join(a.Health(), b.Health()); err != nil || a.Regressions() == 0 {
					t.Fatalf("Health() = %v, Regressions() = %d; want nil and some", err, a.Regressions())
				}
				for _, x := range all {
					wantCounts(t, wait(t, x), 200, 0, 0)
				}
			})
		})
	}
}

// TestADeadOwnerDoesNotKeepItsPrecedence has the owner die in the failover.
func TestADeadOwnerDoesNotKeepItsPrecedence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		s := newTimeMachine()
		toA := reach(s)
		o := engine.Options{Partitions: 4, Slots: 2, LeaseFor: 3 * time.Second}
		start(t, toA, o, action(paced(&calls)))
		b := start(t, s, o, action(paced(&calls)))
		time.Sleep(15 * time.Second)
		sp := spec(paced(&calls))
		moment := s.Save()
		toA.away.Store(true) // for ever
		s.Restore(moment)
		time.Sleep(25 * time.Second)
		if got := len(b.Owned()); got != 4 {
			t.Errorf("the node that is left owns %d partitions of 4 after 25s", got)
		}
		wantCounts(t, wait(t, submit(t, b, sp, numbers(100))), 100, 0, 0)
	})
}
