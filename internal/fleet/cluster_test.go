package fleet_test

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/fleet"
	"github.com/weirhq/weir/internal/testenv"
	"github.com/weirhq/weir/store/redisstore"
)

// onCluster starts a fleet on a Cluster of its own.
func onCluster(t *testing.T, mode redisstore.Mode) (*fleet.Fleet, *testenv.Cluster) {
	t.Helper()
	var conf []string
	c := fleet.Config{Mode: mode, LeaseFor: lease}
	if mode == redisstore.Replicated {
		conf, c.Replicas = []string{"appendfsync", "always"}, 1
	}
	servers := testenv.NewCluster(t, conf...)
	c.Addresses = servers.Addrs()
	return fleet.New(t, c), servers
}

// promoted waits until the replica of primary 0 has taken over.
func promoted(t *testing.T, c *testenv.Cluster) time.Duration {
	t.Helper()
	return until(t, "the replica has taken over", patience, func() bool {
		about, err := c.Replicas[0].Try("INFO", "replication")
		return err == nil && strings.Contains(about, "role:master")
	})
}

func TestAClusterFailoverLosesNothing(t *testing.T) {
	for _, mode := range []redisstore.Mode{redisstore.Memory, redisstore.Replicated} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			f, servers := onCluster(t, mode)
			stop := f.Busy(8, 300)
			while(1500 * time.Millisecond)
			cutAll(f)
			servers.Primaries[0].Kill()
			took := promoted(t, servers)
			if mode == redisstore.Replicated {
				servers.Primaries[0].Restart() // without a replica, the new primary may not acknowledge anything
			}
			while(3 * time.Second)
			stop()
			v := f.Judge(patience)
			t.Logf("failover took %v; longest pauses %v", ms(took), v.Calls.Gaps()[:3])
		})
	}
}

// In mode replicated nothing is acknowledged that a lagging replica does not have.
func TestAPromotedReplicaThatLaggedCostsNothingReplicated(t *testing.T) {
	t.Parallel()
	f, servers := onCluster(t, redisstore.Replicated)
	stop := f.Busy(8, 300)
	while(1500 * time.Millisecond)
	cutAll(f)
	lagging(t, servers)
	servers.Primaries[0].Restart()
	while(3 * time.Second)
	stop()
	f.Judge(patience)
}

// In mode memory a lagging replica has forgotten what was acknowledged. What
// the owners and submitters still know is written again, or a node says what is lost.
func TestAPromotedReplicaThatLaggedIsNoticed(t *testing.T) {
	t.Parallel()
	f, servers := onCluster(t, redisstore.Memory)
	stop := f.Busy(8, 300)
	while(1500 * time.Millisecond)
	cutAll(f)
	lagging(t, servers)
	while(3 * time.Second)
	stop()
	until(t, "all work has ended, or a node tells why not", patience, func() bool { return told(f) != "" || f.Ended() })
	if text := told(f); text != "" {
		t.Logf("a node tells: %s", text)
		for _, n := range f.Nodes {
			n.Stop()
		}
		return
	}
	f.Judge(patience)
}

// lagging promotes a replica that has missed what its primary did lately.
func lagging(t *testing.T, c *testenv.Cluster) {
	t.Helper()
	c.Replicas[0].Freeze()
	while(700 * time.Millisecond)
	c.Primaries[0].Kill()
	c.Replicas[0].Thaw()
	promoted(t, c)
}
