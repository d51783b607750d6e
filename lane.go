package weir

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// LaneID names a lane: one resource in one partition.
type LaneID struct {
	Partition int
	Resource  string
}

// String writes the lane as p03/send-message.
func (id LaneID) String() string { return fmt.Sprintf("p%02d/%s", id.Partition, id.Resource) }

// MarshalText writes the lane as String does.
func (id LaneID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what String writes.
func (id *LaneID) UnmarshalText(text []byte) error {
	p, resource, found := strings.Cut(string(text), "/")
	n, err := strconv.Atoi(strings.TrimPrefix(p, "p"))
	if !found || err != nil || n < 0 || resource == "" {
		return fmt.Errorf("lane %q: want partition and resource, as in p03/send-message", text)
	}
	*id = LaneID{n, resource}
	return nil
}

// Node tells what a node observed of itself and of its lanes.
type Node struct {
	Name string    `json:"name"`
	At   time.Time `json:"at"` // when it looked
	// Leads says that this node decides for all.
	Leads bool `json:"leads,omitempty"`
	Slots int  `json:"slots"`
	// CPU and Memory are the shares in use, from 0 to 1.
	CPU    float64 `json:"cpu"`
	Memory float64 `json:"memory"`
	Lanes  []Lane  `json:"lanes,omitempty"`
	// Resources is what the node knows of the resources that its lanes use.
	Resources []ResourceUse `json:"resources,omitempty"`
	// Pending is how many items have not ended in its partitions, of tenants that have a bound on them.
	Pending map[string]int64 `json:"pending,omitempty"`
}

// ResourceUse tells what one node knows of a resource and of its downstream.
type ResourceUse struct {
	Name string `json:"name"`
	// Rate is the limit of all nodes, in items per second, and Allowed what this
	// node may start now; 0: no limit. Limited says that refusals hold it down.
	Rate    float64 `json:"rate,omitempty"`
	Allowed float64 `json:"allowed,omitempty"`
	Limited bool    `json:"limited,omitempty"`
	// Use is the share of Allowed that was used.
	Use float64 `json:"use"`
	// Concurrency is the limit of all nodes, and Bearable what the downstream was
	// found to bear of this node; 0: no limit. InFlight is this node's tasks.
	Concurrency int `json:"concurrency,omitempty"`
	Bearable    int `json:"bearable,omitempty"`
	InFlight    int `json:"in_flight"`
	// Pacing decides between an even stream and few calls; empty: as [PacingSmooth].
	Pacing Pacing `json:"pacing,omitempty"`
	// Circuit is closed, open or half-open; CircuitUntil is when that ends, if a time is set.
	Circuit      string    `json:"circuit"`
	CircuitUntil time.Time `json:"circuit_until,omitzero"`
	// Outage says since when and why the circuit is not closed; nil: it is closed.
	Outage *Outage `json:"outage,omitempty"`
	// Text says why the resource is held down, if it is.
	Text string `json:"text,omitempty"`
}

// Outage tells since when and why a circuit is not closed at a node.
type Outage struct {
	Since time.Time `json:"since"` // when it opened
	// Failed of Calls calls that were counted when it opened had failed; 0 if it was opened by hand.
	Failed int `json:"failed,omitempty"`
	Calls  int `json:"calls,omitempty"`
	// Probes counts how often probe calls have failed since.
	Probes int `json:"probes,omitempty"`
	// Code is the error code of the last call that failed.
	Code   string `json:"code,omitempty"`
	ByHand bool   `json:"by_hand,omitempty"`
}

// Lane tells what a node observed of one lane. Counts only ever grow for as long as
// one node owns the lane; all others are of the second before At.
type Lane struct {
	ID LaneID `json:"lane"`
	// Workers is the bound on the tasks in flight, and Chunk how many items a task has at most.
	Workers int `json:"workers"`
	Chunk   int `json:"chunk"`
	// Ready is how many items could run but for limits and pauses, Eligible how many
	// of them nothing but limits holds up, and Waiting how many have a due time.
	Ready    int64 `json:"ready"`
	Eligible int64 `json:"eligible"`
	// Spare is how many of them lanes of the same resource on further nodes could take.
	Spare   int64 `json:"spare,omitempty"`
	Waiting int64 `json:"waiting"`
	// InFlight is tasks, and Busy the mean of it.
	InFlight int     `json:"in_flight"`
	Busy     float64 `json:"busy"`
	// Wait50, Wait99 are the waits for a worker; Oldest is how long the tenant that
	// was served longest ago waits.
	Wait50 time.Duration `json:"wait_p50"`
	Wait99 time.Duration `json:"wait_p99"`
	Oldest time.Duration `json:"oldest"`
	// Weight is the weight of the tenants that have something to run.
	Weight int64 `json:"weight"`
	// Cause is what holds the lane up now.
	Cause string `json:"cause,omitempty"`

	// Arrived, Started, Ended, Failed, Refused count tasks since this node owns the
	// lane; Sent is the items of the tasks that started, and Took is for how long those
	// that ended held a worker.
	Arrived float64       `json:"arrived"`
	Started int64         `json:"started"`
	Sent    int64         `json:"sent,omitempty"`
	Ended   int64         `json:"ended"`
	Failed  int64         `json:"failed"`
	Refused int64         `json:"refused"`
	Took    time.Duration `json:"took"`
	// Items were answered, since then, by calls that did not fail as a whole; Again of
	// them were to be tried again, and Gone ended there without being done.
	Items int64 `json:"items,omitempty"`
	Again int64 `json:"again,omitempty"`
	Gone  int64 `json:"gone,omitempty"`

	// QuotaUse is the share of the rate that this node may use which its lanes of
	// the resource used together.
	QuotaUse float64 `json:"quota_use,omitempty"`
	// Rate is how many items started per second, lately, and Tenants are those with the most to do.
	Rate    float64      `json:"rate,omitempty"`
	Tenants []LaneTenant `json:"tenants,omitempty"`
	// Strained says that flow control holds the resource down, Closed that nothing
	// may run on it at all.
	Strained bool `json:"strained,omitempty"`
	Closed   bool `json:"closed,omitempty"`
}

// LaneTenant tells what a tenant has to do on a lane.
type LaneTenant struct {
	Tenant string `json:"tenant"`
	// Ready is how many of its items nothing but limits holds up.
	Ready int64 `json:"ready"`
	// InFlight is its tasks in the lane's partition, on all lanes.
	InFlight int `json:"in_flight"`
	// Rate is how many of its items started per second, lately.
	Rate float64 `json:"rate"`
	// Claim is the part of the lane's Weight that its share comes to, with its tiers
	// taken into account.
	Claim float64 `json:"claim,omitempty"`
}

// Tasks converts a number of the lane's items to tasks.
func (l *Lane) Tasks(items int64) float64 { return float64(items) / float64(max(l.Chunk, 1)) }

// ResourceChange records that a node's flow control began or ceased to hold a resource down.
type ResourceChange struct {
	At   time.Time `json:"at"`
	Node string    `json:"node"`
	ResourceUse
}

// Depth returns how many tasks are ready for each worker.
func (l *Lane) Depth() float64 { return l.Tasks(l.Ready) / float64(max(l.Workers, 1)) }

// Idle reports whether the lane has nothing to do.
func (l *Lane) Idle() bool { return l.Ready == 0 && l.InFlight == 0 && l.Waiting == 0 }
