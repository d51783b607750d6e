package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
)

// The rate and the concurrency of a resource are changed together or one by one,
// and then again: work goes on by the new limits each time.
func TestAResourceWithARateAndAConcurrencyGoesOnAfterAChangeOfEither(t *testing.T) {
	slow, fast, few := weir.PerSecond(50), weir.PerSecond(100), 5
	for _, c := range []struct {
		name string
		to   weir.ResourceLimits
		want int // items per second
		most int // in flight
	}{
		{"rate", weir.ResourceLimits{Rate: &slow}, 50, 60},
		{"concurrency", weir.ResourceLimits{Concurrency: &few}, 25, few},
		{"both", weir.ResourceLimits{Rate: &fast, Concurrency: &few}, 25, few},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l ledger
				a := noted("limited", &l, 200*time.Millisecond)
				a.BatchSize, a.Resource.Rate, a.Resource.Concurrency = 1, weir.PerSecond(200), 60
				fleet := startCuttable(t, a)
				tenants(t, fleet.rigs[0], a, 6, 5000)
				time.Sleep(8 * time.Second)
				fleet.set(t, c.to)
				wantPace(t, &l, c.want, c.most)
				rate, concurrency := weir.PerSecond(20), 30
				fleet.set(t, weir.ResourceLimits{Rate: &rate, Concurrency: &concurrency})
				wantPace(t, &l, 20, concurrency)
				fleet.stop(t)
			})
		})
	}
}

// wantPace looks at the ten seconds that begin in five.
func wantPace(t *testing.T, l *ledger, perSecond, inFlight int) {
	t.Helper()
	time.Sleep(5 * time.Second)
	l.mu.Lock()
	l.most = l.running
	l.mu.Unlock()
	from := time.Now()
	time.Sleep(10 * time.Second)
	l.mu.Lock()
	most := l.most
	l.mu.Unlock()
	if n := l.between(from, time.Now()); n < perSecond*10*8/10 || n > perSecond*11 {
		t.Errorf("%d items were sent in 10 s, want about %d", n, perSecond*10)
	}
	if most > inFlight {
		t.Errorf("%d tasks ran at once, want %d at most", most, inFlight)
	}
}
