//go:build unix

package fleettest

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testkit/testenv/life"
)

// Fleet consists of nodes, the downstream that they call, and a client that submits work.
type Fleet struct {
	// Nodes are those of the start, in order.
	Nodes []*Node

	*client
	t        testing.TB
	config   Config
	dir      string
	recorder *life.Process
	url      string
	lives    int

	processes map[string]*life.Process // all that were started, by name

	faults    int          // injected into nodes
	atRisk    int          // calls for items that they may have repeated
	worst     int          // by one of them
	undone    int          // attempts at one item that one of them may have undone
	disturbed map[int]bool // lives with an injected fault
	zombies   map[int]bool // those of them that may not have noticed
}

// Node is one place in the fleet. Each start of its process is another life.
type Node struct {
	fleet   *Fleet
	number  int
	life    int
	name    string // the name of its engine
	process *life.Process
}

// upIn bounds the start of a process, on a busy machine.
const upIn = 30 * time.Second

// New starts a fleet, which ends with the test.
func New(t testing.TB, c Config) *Fleet {
	t.Helper()
	f := &Fleet{t: t, config: c.withDefaults(), dir: t.TempDir(), undone: 1,
		disturbed: map[int]bool{}, zombies: map[int]bool{}, processes: map[string]*life.Process{}}
	t.Cleanup(func() {
		if t.Failed() {
			f.dump()
		}
	})
	f.recorder, f.url = f.spawn(order{Role: "recorder", Log: f.callLog(), Config: f.config}, "recorder", "ready")
	for i := range f.config.Nodes {
		n := &Node{fleet: f, number: i}
		f.Nodes = append(f.Nodes, n)
		n.Start()
	}
	f.settle()
	f.client = newClient(t, f.config)
	return f
}

// settle waits until the partitions are spread over the nodes. A partition that is handed
// over later has commits that its new owner does not remember.
func (f *Fleet) settle() {
	f.t.Helper()
	least := f.config.Partitions / f.config.Nodes
	for end := time.Now().Add(upIn); ; <-time.After(10 * time.Millisecond) {
		owned, spread := 0, true
		for _, n := range f.Nodes {
			kept := len(n.Kept())
			owned += kept
			spread = spread && kept >= least
		}
		if owned == f.config.Partitions && spread {
			return
		}
		if time.Now().After(end) {
			f.t.Fatalf("the %d partitions are not spread over the %d nodes after %v", f.config.Partitions, f.config.Nodes, upIn)
		}
	}
}

func (f *Fleet) callLog() string { return filepath.Join(f.dir, "calls.log") }

// dump prints the gist of every process's log.
func (f *Fleet) dump() {
	for _, name := range slices.Sorted(maps.Keys(f.processes)) {
		f.t.Logf("%s:\n%s", name, gist(f.processes[name].Stderr()))
	}
}

// Start starts the node's process, and returns when its engine runs.
func (n *Node) Start() {
	f := n.fleet
	f.t.Helper()
	f.lives++
	n.life = f.lives
	addresses := f.config.Addresses
	if via := f.config.Via[n.number]; via != "" {
		addresses = []string{via}
	}
	n.process, n.name = f.spawn(order{Role: "node", URL: f.url, Life: n.life, Addresses: addresses, Config: f.config},
		fmt.Sprintf("node%d-life%d", n.number, n.life), "up")
}

// Number returns the node's place in the fleet.
func (n *Node) Number() int { return n.number }

// Life returns the number of the node's process among all that were started.
func (n *Node) Life() int { return n.life }

// Kill ends the process with SIGKILL.
func (n *Node) Kill() {
	n.fleet.t.Helper()
	n.Disturb(n.fleet.config.atDeath())
	n.mustRun()
	if err := n.process.Kill(); err != nil {
		n.fleet.t.Fatalf("node %d: %v", n.number, err)
	}
}

// Freeze stops the process with SIGSTOP; its connections stay open. If that lasts longer than
// the lease, other nodes do its work.
func (n *Node) Freeze() {
	n.fleet.t.Helper()
	n.Disturb(2 * n.fleet.config.atDeath()) // once when others take over, once more for what it does late
	n.fleet.zombies[n.life] = true
	n.signal(syscall.SIGSTOP)
}

// Thaw ends a Freeze.
func (n *Node) Thaw() {
	n.fleet.t.Helper()
	n.signal(syscall.SIGCONT)
}

// Stop tells the node to stop and waits until it has. It must stop cleanly.
func (n *Node) Stop() {
	t := n.fleet.t
	t.Helper()
	n.signal(syscall.SIGTERM)
	defer killIn(upIn, n.process)()
	if err := n.process.Wait(); err != nil {
		t.Errorf("node %d did not stop cleanly within %v: %v", n.number, upIn, gist(err.Error()))
	}
}

// Kept lists the partitions that the node's process has taken and not handed over.
func (n *Node) Kept() (partitions []string) {
	for _, m := range tookOrGave.FindAllStringSubmatch(n.process.Stderr(), -1) {
		partitions = slices.DeleteFunc(partitions, func(p string) bool { return p == m[2] })
		if m[1] == "taken" {
			partitions = append(partitions, m[2])
		}
	}
	return partitions
}

var tookOrGave = regexp.MustCompile(`msg="partition (taken|handed over)" partition=(\d+)`)

// Disturb tells the judge that a fault was injected into the node that may make it and others
// repeat calls for so many items.
func (n *Node) Disturb(atRisk int) {
	f := n.fleet
	f.faults++
	f.atRisk += atRisk
	f.worst = max(f.worst, atRisk)
	f.disturbed[n.life] = true
}

// Cut tells the judge that the node cannot reach its store for a while.
func (n *Node) Cut() {
	n.Disturb(n.fleet.config.atCut())
	n.fleet.zombies[n.life] = true
	n.fleet.undone = 2 // one that the cut off node made in vain, and one that it was making
}

// Health returns the problem that the node reports; empty: none.
func (n *Node) Health() string { return n.process.Last("health") }

// Running reports whether the process is running.
func (n *Node) Running() bool { return n.process.Running() }

func (n *Node) signal(s syscall.Signal) {
	n.fleet.t.Helper()
	n.mustRun()
	if err := n.process.Signal(s); err != nil {
		n.fleet.t.Fatalf("node %d: signal %v: %v", n.number, s, err)
	}
}

// mustRun fails the test if the process ended by itself: nothing that is done
// to its store or its network may end a node.
func (n *Node) mustRun() {
	n.fleet.t.Helper()
	if !n.Running() {
		n.fleet.t.Fatalf("node %d ended by itself: %s", n.number, n.end())
	}
}

// end returns the gist of how the node's process ended.
func (n *Node) end() string { return gist(fmt.Sprint(n.process.Wait())) }
