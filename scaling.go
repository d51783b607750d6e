package weir

import "time"

// Scaling holds what operators have set, for all nodes. The zero value works.
type Scaling struct {
	// Policy decides: littles-law, the default, or another that docs/scaling.md names. PolicyOff leaves all lanes as they are.
	Policy string `json:"policy,omitempty"`
	// Shadow is a policy that decides as well and is not obeyed: what it would have
	// done is stored beside what was done.
	Shadow string `json:"shadow,omitempty"`
	// Min and Max bound the workers of a lane. Default: what the engine's options say.
	Min int `json:"min,omitempty"`
	Max int `json:"max,omitempty"`
	// Drain is the time over which a backlog should be worked off. Default: scale's.
	Drain time.Duration `json:"drain,omitempty"`
	// Paused, if set, says why no worker count is changed at present.
	Paused string `json:"paused,omitempty"`
	// Timetables holds workers ready at certain hours, by resource and over all its
	// lanes: "Fri 20:00 64".
	Timetables map[string]string `json:"timetables,omitempty"`
	// Pins are worker counts set by hand.
	Pins map[LaneID]Pin `json:"pins,omitempty"`
	// RateRules says by resource how a rate is learned from refusals: estimate, the
	// default, or aimd.
	RateRules map[string]string `json:"rate_rules,omitempty"`
	// Circuits are breakers opened or closed by hand, by resource.
	Circuits map[string]Circuit `json:"circuits,omitempty"`
	// Probes says by resource when a probe of its open circuit was asked for by hand.
	Probes map[string]time.Time `json:"probes,omitempty"`
}

// PolicyOff is the policy that decides nothing.
const PolicyOff = "off"

// Pin is a number of workers set by hand.
type Pin struct {
	Workers int       `json:"workers"`
	Until   time.Time `json:"until"`
	Why     string    `json:"why"`
}

// Circuit is a breaker set by hand: Open lets nothing start, closed ignores failures.
type Circuit struct {
	Open  bool      `json:"open"`
	Until time.Time `json:"until"`
	Why   string    `json:"why"`
}

// Decision says how many workers a lane should have, why, and what was seen.
type Decision struct {
	Lane   LaneID    `json:"lane"`
	At     time.Time `json:"at"`
	Epoch  uint64    `json:"epoch"` // of the leader
	Policy string    `json:"policy"`
	From   int       `json:"from"`
	To     int       `json:"to"`
	Reason string    `json:"reason"`
	Text   string    `json:"text"`
	// Shadow says that it was not carried out. From and To are then what the policy
	// believes that there are, and Inputs.Workers what there were.
	Shadow bool           `json:"shadow,omitempty"`
	Inputs DecisionInputs `json:"inputs,omitzero"`
}

// Direction is up, down or hold.
func (d *Decision) Direction() string {
	switch {
	case d.To > d.From:
		return "up"
	case d.To < d.From:
		return "down"
	}
	return "hold"
}

// DecisionInputs holds the numbers that a decision was made from.
type DecisionInputs struct {
	Workers  int           `json:"workers"`
	Arrivals float64       `json:"arrivals"` // tasks per second
	Backlog  int           `json:"backlog"`  // tasks
	InFlight int           `json:"in_flight"`
	Usable   float64       `json:"usable,omitempty"` // tasks per second; 0: no limit
	Service  time.Duration `json:"service"`
	Ended    int           `json:"ended"`
	Failed   int           `json:"failed"`
	SlotWait time.Duration `json:"slot_wait"`
	Busy     float64       `json:"busy"`
	CPU      float64       `json:"cpu"`
	Memory   float64       `json:"memory"`
	Strained bool          `json:"strained,omitempty"`
	Closed   bool          `json:"closed,omitempty"`
	Floor    int           `json:"floor,omitempty"`
	Need     float64       `json:"need"`
	Useful   float64       `json:"useful,omitempty"`
}

// Plan tells what the leader thinks of all lanes. It is renewed every second.
type Plan struct {
	At time.Time `json:"at"`
	// Leader is the node that decides; empty: none does, and only what was decided last is known.
	Leader string     `json:"leader,omitempty"`
	Lanes  []LanePlan `json:"lanes,omitempty"`
	// Workers is how many there are, and WorkersNeeded how many the load would keep busy
	// that limits and settings let run.
	Workers       int `json:"workers"`
	WorkersNeeded int `json:"desired_workers"`
	// Nodes is how many there are, and NodesDesired how many have the slots for that.
	Nodes        int `json:"nodes"`
	NodesDesired int `json:"desired_nodes"`
}

// LanePlan tells what the leader thinks of one lane.
type LanePlan struct {
	Lane    LaneID `json:"lane"`
	Workers int    `json:"workers"`
	// Need is how many workers the load would keep busy, and Useful how many the rate
	// and the concurrency that can be used would; 0: no limit.
	Need   float64 `json:"need"`
	Useful float64 `json:"useful,omitempty"`
	// Reason is of the last cycle, which may have changed nothing.
	Reason string `json:"reason,omitempty"`
	// Decision is the newest that was stored, and Shadow the newest of a shadow policy.
	Decision *Decision `json:"decision,omitempty"`
	Shadow   *Decision `json:"shadow,omitempty"`
}
