package redisstore

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// nodeTimeout is the assumed node timeout of a Cluster that does not report it.
const nodeTimeout = 15 * time.Second

// lookAtServers checks servers without a Cluster or Sentinels, which could confirm the primary:
// none is ever confirmed.
func (s *Store) lookAtServers(ctx context.Context) []sight {
	var all []sight
	for _, seen := range s.askNodes(ctx) {
		if seen.info["role"] == "master" {
			all = append(all, seen.sight)
		}
	}
	return all
}

// nodeAnswer is a server's report about itself and the others.
type nodeAnswer struct {
	sight
	info  map[string]string
	nodes []clusterNode // of a Cluster
}

// lookAtCluster lets the primaries of a Cluster confirm each other.
func (s *Store) lookAtCluster(ctx context.Context) []sight {
	answers := s.askNodes(ctx)
	views := make([][]clusterNode, 0, len(answers))
	for _, a := range answers {
		views = append(views, a.nodes)
	}
	var all []sight
	for _, a := range answers {
		if me := myself(a.nodes); me.owns() && a.info["role"] == "master" {
			a.confirmed, a.alive, a.known = confirm(views, me.id)
			all = append(all, a.sight)
		}
	}
	return all
}

// askNodes asks every server that the client knows, and leaves out those that do not answer.
func (s *Store) askNodes(ctx context.Context) []nodeAnswer {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	var all []nodeAnswer
	at := time.Now()
	for address, c := range s.client.Nodes() {
		wg.Go(func() {
			a := nodeAnswer{sight: sight{address: address, at: at, noticedIn: 2 * nodeTimeout}}
			if err := a.ask(ctx, c, s.client.Mode() == rueidis.ClientModeCluster); err == nil {
				mu.Lock()
				defer mu.Unlock()
				all = append(all, a)
			}
		})
	}
	wg.Wait()
	return all
}

func (a *nodeAnswer) ask(ctx context.Context, c rueidis.Client, cluster bool) error {
	commands := []rueidis.Completed{c.B().Info().Section("server", "replication").Build()}
	if cluster {
		commands = append(commands, c.B().ClusterNodes().Build(), c.B().ConfigGet().Parameter("cluster-node-timeout").Build())
	}
	replies := c.DoMulti(ctx, commands...)
	text, err := replies[0].ToString()
	if err != nil {
		return err
	}
	a.info = fields(text)
	a.runID, a.online = a.info["run_id"], onlineReplicas(a.info)
	a.offset, _ = strconv.ParseInt(a.info["master_repl_offset"], 10, 64)
	if !cluster {
		return nil
	}
	if text, err = replies[1].ToString(); err != nil {
		return err
	}
	a.nodes = parseNodes(text)
	conf, _ := replies[2].AsStrMap() // hosted servers may forbid CONFIG
	if ms, err := strconv.Atoi(conf["cluster-node-timeout"]); err == nil {
		a.noticedIn = 2 * time.Duration(ms) * time.Millisecond
	}
	return nil
}

// onlineReplicas returns the offsets that the connected replicas have confirmed, as in
// slave0:ip=10.0.0.7,port=6379,state=online,offset=14,lag=0.
func onlineReplicas(info map[string]string) (offsets []int64) {
	for i := 0; ; i++ {
		line, ok := info["slave"+strconv.Itoa(i)]
		if !ok {
			return offsets
		}
		if strings.Contains(line, "state=online") {
			_, text, _ := strings.Cut(line, "offset=")
			text, _, _ = strings.Cut(text, ",")
			n, _ := strconv.ParseInt(text, 10, 64) // 0: it has confirmed nothing
			offsets = append(offsets, n)
		}
	}
}

// clusterNode is a line of CLUSTER NODES.
type clusterNode struct {
	id, primary string // primary: the id of its primary
	flags       map[string]bool
	slots       bool // it has some
}

func parseNodes(text string) (nodes []clusterNode) {
	text = strings.TrimPrefix(text, "txt:") // the format of the text, in the newer protocol
	for line := range strings.Lines(text) {
		f := strings.Fields(line) // id address flags primary ping pong epoch link slots...
		if len(f) < 8 {
			continue
		}
		n := clusterNode{id: f[0], primary: f[3], flags: map[string]bool{}, slots: len(f) > 8}
		for _, flag := range strings.Split(f[2], ",") {
			n.flags[flag] = true
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// owns reports whether it is a primary with a vote.
func (n clusterNode) owns() bool { return n.flags["master"] && n.slots }

// gone reports whether a majority considers it dead. A suspicion of one server, fail?, is not
// enough.
func (n clusterNode) gone() bool { return n.flags["fail"] || n.flags["noaddr"] }

func myself(view []clusterNode) clusterNode {
	for _, n := range view {
		if n.flags["myself"] {
			return n
		}
	}
	return clusterNode{}
}

// confirm counts how many of the Cluster's primaries consider one of them a healthy primary:
// confirmed if that is a majority of all primaries with slots. alive is the largest number of
// its replicas that one of these considers alive; known includes the dead ones. A dead primary
// that lost its slots may become a replica of any primary.
func confirm(views [][]clusterNode, id string) (confirmed bool, alive, known int) {
	size, yes := 0, 0
	for _, view := range views {
		primaries, up, down, healthy := 0, 0, 0, false
		for _, n := range view {
			switch {
			case n.owns():
				primaries++
				healthy = healthy || n.id == id && !n.gone() && !n.flags["fail?"]
			case n.primary == id && !n.gone():
				up++
			case n.primary == id || n.flags["master"] && n.gone():
				down++
			}
		}
		size = max(size, primaries)
		if healthy && myself(view).owns() {
			yes++
			alive, known = max(alive, up), max(known, up+down)
		}
	}
	return 2*yes > size, alive, known
}
