//go:build unix

package fleettest

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/weirhq/weir/store/redisstore"
)

const (
	seed        = 1 // of the recorder: which items fail, and how
	maxAttempts = 5
)

// Config configures a fleet. Only Addresses is required.
type Config struct {
	// Addresses, Primary, Mode, Replicas and Strict describe the store, as in
	// [redisstore.Options].
	Addresses []string
	Primary   string
	Mode      redisstore.Mode
	Replicas  int
	Strict    bool
	// Nodes is the number of nodes at the start. Default 3.
	Nodes int
	// Via holds other store addresses for some nodes, by node.
	Via map[int]string
	// Partitions, Slots and LeaseFor are options of each node. Default 8, 16 and 2s.
	Partitions, Slots int
	// Workers is the number of workers that a lane starts with. Default: the engine's.
	Workers  int
	LeaseFor time.Duration
	// Batch is the number of items in a call. Default 10.
	Batch int
	// Latency is the approximate time of a call. Default 20ms.
	Latency time.Duration
	// Concurrency is the number of calls that a bulk action may have in flight. Default 1, so
	// that each goes at its own pace and a pause of one is visible.
	Concurrency int
	// Rate is the most items per second that all nodes together may call for. Default: no limit.
	Rate float64
	// Refusals makes the downstream refuse some calls as a whole.
	Refusals bool
}

func (c Config) withDefaults() Config {
	c.Nodes = cmp.Or(c.Nodes, 3)
	c.Partitions = cmp.Or(c.Partitions, 8)
	c.Slots = cmp.Or(c.Slots, 16)
	c.Concurrency = cmp.Or(c.Concurrency, 1)
	c.LeaseFor = cmp.Or(c.LeaseFor, 2*time.Second)
	c.Batch = cmp.Or(c.Batch, 10)
	c.Latency = cmp.Or(c.Latency, 20*time.Millisecond)
	return c
}

// store returns the options of the store at given addresses.
func (c Config) store(addresses []string, log *slog.Logger) redisstore.Options {
	return redisstore.Options{
		Addresses: addresses, Primary: c.Primary, Mode: c.Mode, Replicas: c.Replicas, Strict: c.Strict, Logger: log,
	}
}

// atDeath returns how many calls for items one crash may repeat: those in flight, and those
// whose results wait for a commit, which takes less time than a call.
func (c Config) atDeath() int { return 2 * c.Slots * c.Batch }

// stall bounds how long a node may continue after it has lost its store: half a second until it
// gives up on a commit, and as much again on a busy machine.
const stall = time.Second

// atCut returns how many calls for items a node may repeat that lost its store: what it can
// call for until it notices. A call takes at least half of Latency.
func (c Config) atCut() int {
	return c.atDeath() + c.Slots*c.Batch*int(stall/(c.Latency/2))
}
