//go:build unix

package fleettest_test

import (
	"os"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/fleettest"
	"github.com/weirhq/weir/internal/testkit/testenv"
)

// bounded starts a bulk action of 20 ms a call with bounds of its own that no node reaches alone.
func bounded(t *testing.T, c fleettest.CampaignConfig) (k *fleettest.Campaign, long bool) {
	t.Helper()
	long = os.Getenv(longRun) != ""
	c.Nodes, c.Slots, c.Items, c.Call = 3, 12, 20_000, 20*time.Millisecond
	if !long {
		t.Parallel()
		c.Items = 8000
	}
	c.Address = testenv.Redis(t).Addr
	return fleettest.StartCampaign(t, c), long
}

// The judge is the log of the handlers: all nodes together never have more calls in flight than the
// bulk action's own concurrency, and use it up.
func TestNodesShareABulkActionsOwnConcurrency(t *testing.T) {
	const most = 24
	k, long := bounded(t, fleettest.CampaignConfig{Concurrency: most})
	k.Wait(10 * patience)
	s := k.Judge()
	wantAll(t, s, k.Nodes())
	got := s.Busy(k.Submitted.UnixNano(), s.Until(0.95))
	t.Logf("%.1f of %d calls in flight on average until 95 %% of the items had ended, at most %d; %s", got, most, s.Most(), s.Course(most, 12))
	if s.Most() > most {
		t.Errorf("%d calls were in flight at once, the bulk action's own concurrency is %d", s.Most(), most)
	}
	if long && got < 20 {
		t.Errorf("%.1f calls in flight on average, want at least 20 of %d", got, most)
	}
}

func TestNodesShareABulkActionsOwnRate(t *testing.T) {
	const rate = 900
	k, long := bounded(t, fleettest.CampaignConfig{Rate: rate})
	k.Wait(10 * patience)
	s := k.Judge()
	wantAll(t, s, k.Nodes())
	until := s.Until(0.95)
	got := 0.95 * float64(k.Items()) / time.Duration(until-k.Submitted.UnixNano()).Seconds()
	t.Logf("%.0f/s of %d/s until 95 %% of the items had ended; in the busiest second %d", got, rate, s.Busiest())
	if s.Busiest() > rate {
		t.Errorf("%d calls were taken up within a second, the bulk action's own rate is %d/s", s.Busiest(), rate)
	}
	if long && got < 0.8*rate {
		t.Errorf("%.0f/s, want at least 80 %% of %d/s", got, rate)
	}
}

// A node is killed. What it had of the bound goes to the others when they have taken its shard over.
func TestABulkActionsOwnConcurrencyHoldsThroughADeath(t *testing.T) {
	const most = 24
	k, _ := bounded(t, fleettest.CampaignConfig{Concurrency: most})
	until(t, "a third has ended", 2*patience, func() bool { return k.Ended() > int64(k.Items()/3) })
	k.Kill(1)
	killed := time.Now()
	k.Wait(10 * patience)
	s := k.Judge()
	rest := s.After(killed)
	t.Logf("at most %d calls in flight, %d after the death; %s", s.Most(), rest.Most(), s.Course(most, 12))
	if s.Most() > most || rest.Most() < most*3/4 {
		t.Errorf("%d calls were in flight at once, after the death %d; the bulk action's own concurrency is %d", s.Most(), rest.Most(), most)
	}
}
