//go:build unix

package fleettest_test

import (
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/fleettest"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store/redisstore"
)

var failovers = flag.Int("failovers", 1, "how many failovers the Sentinels are asked for, one after the other")

// TestAFailoverThatIsAskedForStopsNoPartition has every owner alive, so that whatever the promoted replica
// lacks can be put back: no partition may stop.
func TestAFailoverThatIsAskedForStopsNoPartition(t *testing.T) {
	t.Parallel()
	set := testenv.NewSentinelSet(t)
	f := fleettest.New(t, fleettest.Config{Addresses: set.Addrs(), Primary: testenv.PrimaryName, Mode: redisstore.Memory, LeaseFor: lease})
	stop := f.Busy(8, 300)
	for n := range *failovers {
		while(1500 * time.Millisecond)
		cutAll(f)
		took := switchOver(t, set)
		while(2500 * time.Millisecond)
		t.Logf("failover %d took %v", n+1, ms(took))
		if text := told(f); text != "" {
			t.Errorf("after failover %d a node tells: %s", n+1, text)
		}
	}
	stop()
	f.Judge(patience)
}

// switchOver asks the Sentinels for a failover, and waits until another server is the primary.
func switchOver(t *testing.T, set *testenv.SentinelSet) time.Duration {
	t.Helper()
	servers := append([]*testenv.Server{set.Primary}, set.Replicas...)
	was := servers[slices.IndexFunc(servers, isPrimary)]
	until(t, "a Sentinel takes the order", patience, func() bool {
		_, err := set.Sentinels[0].Try("SENTINEL", "FAILOVER", testenv.PrimaryName)
		return err == nil
	})
	return until(t, "another server is the primary", patience, func() bool {
		return slices.ContainsFunc(servers, func(s *testenv.Server) bool { return s != was && isPrimary(s) })
	})
}
