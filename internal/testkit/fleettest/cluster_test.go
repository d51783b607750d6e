//go:build unix

package fleettest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/fleettest"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store/redisstore"
)

// onCluster starts a fleet on a Cluster of its own.
func onCluster(t *testing.T, c fleettest.Config) (*fleettest.Fleet, *testenv.Cluster) {
	t.Helper()
	var conf []string
	c.LeaseFor = lease
	if c.Mode == redisstore.Replicated {
		conf, c.Replicas = []string{"appendfsync", "always"}, 1
	}
	servers := testenv.NewCluster(t, conf...)
	c.Addresses = servers.Addrs()
	return fleettest.New(t, c), servers
}

// promoted waits until the replica of primary 0 has taken over.
func promoted(t *testing.T, c *testenv.Cluster) time.Duration {
	t.Helper()
	return until(t, "the replica has taken over", patience, func() bool { return isPrimary(c.Replicas[0]) })
}

func TestAClusterFailoverLosesNothing(t *testing.T) {
	for _, mode := range []redisstore.Mode{redisstore.Memory, redisstore.Replicated} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			f, servers := onCluster(t, fleettest.Config{Mode: mode})
			stop := f.Busy(8, 300)
			while(1500 * time.Millisecond)
			cutAll(f)
			servers.Primaries[0].Kill()
			took := promoted(t, servers)
			while(2500 * time.Millisecond)
			stop()
			v := f.Judge(patience)
			t.Logf("failover took %v; longest pauses %v", ms(took), v.Calls.Gaps()[:3])
		})
	}
}

// Strictly replicated, nothing is acknowledged that a lagging replica does not have.
func TestAPromotedReplicaThatLaggedCostsNothingReplicated(t *testing.T) {
	t.Parallel()
	f, servers := onCluster(t, fleettest.Config{Mode: redisstore.Replicated, Strict: true})
	stop := f.Busy(8, 300)
	while(1500 * time.Millisecond)
	cutAll(f)
	lagging(t, servers)
	servers.Primaries[0].Restart() // as a replica, without which nothing may be acknowledged
	while(2500 * time.Millisecond)
	stop()
	f.Judge(patience)
}

// In mode memory a lagging replica has forgotten what was acknowledged. What
// the owners and submitters still know is written again, or a node says what is lost.
func TestAPromotedReplicaThatLaggedIsNoticed(t *testing.T) {
	t.Parallel()
	f, servers := onCluster(t, fleettest.Config{Mode: redisstore.Memory})
	stop := f.Busy(8, 300)
	while(1500 * time.Millisecond)
	cutAll(f)
	lagging(t, servers)
	while(2500 * time.Millisecond)
	stop()
	until(t, "all work has ended, or a node tells why not", patience, func() bool { return told(f) != "" || f.Ended() })
	if text := told(f); text != "" {
		if !strings.Contains(text, "the store was set back") || !strings.Contains(text, "--accept-loss") {
			t.Errorf("a node tells %q, want that the store was set back, and what to do", text)
		}
		for _, n := range f.Nodes {
			n.Stop()
		}
		return
	}
	f.Judge(patience)
}

// lagging promotes a replica that has missed what its primary did lately: it is
// cut off, and cannot sign in again.
func lagging(t *testing.T, c *testenv.Cluster) {
	t.Helper()
	primary, replica := c.Primaries[0], c.Replicas[0]
	replica.Do("CONFIG", "SET", "masteruser", "nobody")
	replica.Do("CONFIG", "SET", "masterauth", "nothing")
	primary.Do("CLIENT", "KILL", "TYPE", "replica")
	until(t, "the replica is cut off", patience, func() bool {
		return strings.Contains(replica.Do("INFO", "replication"), "master_link_status:down")
	})
	while(700 * time.Millisecond)
	t.Logf("when it is killed the primary is at %s and the replica at %s", offset(primary), offset(replica))
	primary.Kill()
	promoted(t, c)
}

// offset returns a server's position in the replication stream.
func offset(s *testenv.Server) string {
	_, after, _ := strings.Cut(s.Do("INFO", "replication"), "\r\nmaster_repl_offset:")
	n, _, _ := strings.Cut(after, "\r")
	return n
}
