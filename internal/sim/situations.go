package sim

import (
	"fmt"
	"strings"

	"github.com/weirhq/weir"
)

// Situation is something that a batch of seeds must have met, or it proves little.
type Situation int

// The situations.
const (
	UnknownApplied    Situation = iota // a commit without an answer was written
	UnknownLost                        // a commit without an answer was not written
	ZombieRefused                      // a former owner's commit was refused
	TakeoverInMiddle                   // an owner was lost with calls under way, and another took over
	TakeoverCompleted                  // a bulk action completed right after its owner was lost
	CancelRaced                        // a cancel came while the last results were under way
	PoisonIsolated                     // a poisonous item failed alone
	RetrySurvived                      // a retry kept attempt and due time over a takeover
	PauseSurvived                      // a pause held over a takeover
	DeadlineMet                        // a deadline ended a bulk action
	RuleFired                          // a failure rule stopped or cancelled one
	CreatedTwice                       // a created message came twice
	ClaimRefused                       // a repeated submit was refused by its claim
	LeaseDoubted                       // an owner stopped because it could not renew
	HandedOver                         // a partition changed hands cleanly
	ChainUnknown                       // a bulk action waited on a node that did not know its chain
	SharedEnded                        // several partitions worked on a bulk action to its end
	StaleLeader                        // a lane was told something by a leader before the last
	LaneFull                           // all workers of a lane had a task
	numSituations
)

var situationNames = [...]string{
	"commit unknown and applied", "commit unknown and lost", "zombie commit refused", "takeover with calls under way",
	"completion after a takeover", "cancel races the last results", "poison isolated", "retry survives takeover", "pause survives takeover",
	"deadline", "failure rule", "created message twice", "claim refused", "lease in doubt", "clean hand-over", "unknown chain",
	"shared by partitions", "stale leader", "lane full",
}

// String says the situation in words.
func (s Situation) String() string { return situationNames[s] }

// Met counts how often each situation was met.
type Met [numSituations]int

// bereave notes that an owner was lost or left.
func (w *World) bereave(o *owner) {
	if o.running > 0 {
		w.ledger.parts[o.partition].bereaved = true
	}
}

// tookOver notes what a new owner found.
func (w *World) tookOver(o *owner) {
	a := &w.ledger.parts[o.partition]
	if a.bereaved {
		w.met[TakeoverInMiddle]++
	}
	a.bereaved = false
	for _, b := range w.bulks {
		if b.partition != o.partition || !b.created || b.state().Final() {
			continue
		}
		b.survived = true
		if b.state() == weir.BulkPaused {
			w.met[PauseSurvived]++
		}
		if o.node.steps(b.spec.Chain) == nil {
			w.met[ChainUnknown]++
		}
	}
}

// situationsOfEnd notes how a bulk action ended.
func (w *World) situationsOfEnd(b *truth) {
	switch b.status.CancelCause {
	case "deadline":
		w.met[DeadlineMet]++
	case "rule":
		w.met[RuleFired]++
	case "user":
		if b.state() == weir.BulkCompleted || b.ended() > 0 && b.ended() < b.spec.Items {
			w.met[CancelRaced]++
		}
	}
	if b.spec.Shared() && b.state() == weir.BulkCompleted {
		w.met[SharedEnded]++
	}
	if b.survived && b.state() == weir.BulkCompleted {
		w.met[TakeoverCompleted]++
	}
}

// Add adds what another run met.
func (m *Met) Add(o *Met) {
	for i := range m {
		m[i] += o[i]
	}
}

// String lists the counts, one situation per line.
func (m *Met) String() string {
	var s strings.Builder
	for i, n := range m {
		fmt.Fprintf(&s, "\n%8d  %v", n, Situation(i))
	}
	return s.String()
}
