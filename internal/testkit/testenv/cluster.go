package testenv

import (
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Cluster is three primaries and a replica of each.
type Cluster struct {
	// Primaries and Replicas are as they began; a failover changes roles. Replica i is of primary i.
	Primaries, Replicas []*Server
}

// Addrs returns the addresses of all servers.
func (c *Cluster) Addrs() []string {
	return addrs(append(c.Primaries[:len(c.Primaries):len(c.Primaries)], c.Replicas...))
}

func addrs(servers []*Server) []string {
	var all []string
	for _, s := range servers {
		all = append(all, s.Addr)
	}
	return all
}

const (
	shards   = 3
	slots    = 16384
	settleIn = 30 * time.Second
	// nodeTimeout is the time in milliseconds after which a node counts as gone.
	nodeTimeout = "1000"
)

// NewCluster starts a Cluster that has noticed all of its nodes. conf is added to the settings of each.
func NewCluster(t testing.TB, conf ...string) *Cluster {
	t.Helper()
	dir := t.TempDir()
	conf = append([]string{
		"save", "", "appendonly", "yes", "appendfsync", "everysec", "cluster-enabled", "yes",
		"cluster-node-timeout", nodeTimeout, "repl-diskless-sync-delay", "0", "cluster-replica-validity-factor", "0",
	}, conf...)
	var nodes []*Server
	for i := range 2 * shards {
		nodes = append(nodes, start(t, mkdir(t, filepath.Join(dir, strconv.Itoa(i))), conf))
	}
	c := &Cluster{Primaries: nodes[:shards], Replicas: nodes[shards:]}
	for i, p := range c.Primaries {
		p.Do("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(i*slots/shards), strconv.Itoa((i+1)*slots/shards-1))
		p.Do("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
	}
	for _, n := range nodes[1:] {
		_, port, _ := net.SplitHostPort(n.Addr)
		nodes[0].Do("CLUSTER", "MEET", host, port, n.bus)
	}
	for _, n := range nodes {
		await(t, "all nodes know each other", func() bool {
			return strings.Contains(n.Do("CLUSTER", "INFO"), "cluster_known_nodes:6\r")
		})
	}
	for i, r := range c.Replicas {
		r.Do("CLUSTER", "REPLICATE", c.Primaries[i].Do("CLUSTER", "MYID"))
	}
	c.Settle()
	return c
}

// Settle waits until every node says that the Cluster is well, and every primary has a replica that is up to date.
func (c *Cluster) Settle() {
	t := c.Primaries[0].t
	t.Helper()
	for _, p := range c.Primaries {
		await(t, "the Cluster is well", func() bool {
			return strings.Contains(p.Do("CLUSTER", "INFO"), "cluster_state:ok") && replicas(p) == 1
		})
	}
	for _, r := range c.Replicas {
		await(t, "all replicas are known", func() bool {
			return strings.Count(r.Do("CLUSTER", "NODES"), " slave ")+strings.Count(r.Do("CLUSTER", "NODES"), "myself,slave ") == shards &&
				strings.Contains(r.Do("CLUSTER", "INFO"), "cluster_state:ok")
		})
	}
}

// replicas counts those that are up to date.
func replicas(s *Server) int { return strings.Count(s.Do("INFO", "replication"), "state=online") }

// await waits for something that takes a moment.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(settleIn); !ok(); <-time.After(10 * lookEvery) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v until %s", settleIn, what)
		}
	}
}
