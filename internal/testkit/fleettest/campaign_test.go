//go:build unix

package fleettest_test

import (
	"os"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/fleettest"
	"github.com/weirhq/weir/internal/testkit/testenv"
)

// campaign starts a bulk action on a fleet of its own: a small one, or with the long run the one
// whose figures are published.
func campaign(t *testing.T, c fleettest.CampaignConfig) (k *fleettest.Campaign, long bool) {
	t.Helper()
	long = os.Getenv(longRun) != ""
	if !long {
		t.Parallel() // it mostly waits; the long run has the machine to itself, for its figures
		c.Nodes, c.Slots, c.Items, c.Canary = 3, 8, 12_000, min(c.Canary, 500)
	}
	c.Address = testenv.Redis(t).Addr
	return fleettest.StartCampaign(t, c), long
}

// wantUse checks how much of the slots was used from the submit until all but the last twentieth
// of the items had ended. Only the long run measures.
func wantUse(t *testing.T, s fleettest.Spans, from time.Time, slots int, long bool) {
	t.Helper()
	until := s.Until(0.95)
	use := s.Busy(from.UnixNano(), until) / float64(slots)
	t.Logf("%.1f %% of %d slots were used until 95 %% of the items had ended, after %v; in all %v; %s", 100*use, slots,
		ms(time.Duration(until-from.UnixNano())), ms(time.Duration(s.Until(1)-from.UnixNano())), s.Course(slots, 12))
	if long && use < 0.85 {
		t.Errorf("%.1f %% of the slots were used, want at least 85 %%", 100*use)
	}
}

// wantAll checks that every node had a part of the calls.
func wantAll(t *testing.T, s fleettest.Spans, nodes int) {
	t.Helper()
	for n := range nodes {
		if calls := len(s.Of(n)); calls < len(s)/nodes/4 {
			t.Errorf("node %d made %d of %d calls", n, calls, len(s))
		}
	}
}

func TestOneCampaignUsesTheWholeFleet(t *testing.T) {
	k, long := campaign(t, fleettest.CampaignConfig{})
	k.Wait(10 * patience)
	s := k.Judge()
	wantAll(t, s, k.Nodes())
	wantUse(t, s, k.Submitted, k.Nodes()*k.Slots(), long)
}

func TestTheRestAfterACanaryUsesTheWholeFleet(t *testing.T) {
	k, long := campaign(t, fleettest.CampaignConfig{Canary: 2000})
	canary := int64(k.Canary())
	until(t, "the canary has ended", 2*patience, func() bool { return k.Ended() == canary })
	approved := k.Approve()
	k.Wait(10 * patience)
	s := k.Judge()
	rest := s[canary:]
	if home := s.Of(s[0].Node); home[canary-1] != s[canary-1] || rest[0].From < approved.UnixNano() {
		t.Errorf("the canary of %d items did not run alone and on one node", canary)
	}
	wantAll(t, rest, k.Nodes())
	wantUse(t, rest, approved, k.Nodes()*k.Slots(), long)
}

func TestANodeThatJoinsTakesPart(t *testing.T) {
	k, long := campaign(t, fleettest.CampaignConfig{})
	until(t, "a fifth has ended", 2*patience, func() bool { return k.Ended() > int64(k.Items()/5) })
	n := k.Join()
	joined := time.Now()
	k.Wait(10 * patience)
	s := k.Judge()
	mine := s.Of(n)
	if len(mine) < k.Items()/k.Nodes()/4 {
		t.Fatalf("the node that joined made %d of %d calls", len(mine), len(s))
	}
	t.Logf("the node that joined made its first call after %v, and %d of %d", ms(time.Duration(mine[0].From-joined.UnixNano())), len(mine), len(s))
	wantUse(t, s.After(joined), joined, k.Nodes()*k.Slots(), long)
}

func TestACampaignSurvivesTheDeathOfANode(t *testing.T) {
	k, _ := campaign(t, fleettest.CampaignConfig{})
	until(t, "a third has ended", 2*patience, func() bool { return k.Ended() > int64(k.Items()/3) })
	k.Kill(0)
	k.Wait(10 * patience)
	s := k.Judge()
	t.Logf("%d calls for %d items; in all %v; %s", len(s), k.Items(), ms(time.Duration(s.Until(1)-k.Submitted.UnixNano())),
		s.Course(k.Nodes()*k.Slots(), 12))
}
