package sim

import (
	"fmt"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
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
	SharedLater                        // partitions were added to a bulk action while it ran
	StaleLeader                        // a lane was told something by a leader before the last
	LaneFull                           // all workers of a lane had a task
	HoldSurvived                       // what was held, scheduled or awaiting was so after a takeover
	StartRaced                         // a command to start came just when the time did
	HeldCancelled                      // something was cancelled before it was started
	CanaryHeld                         // the rest went on by itself
	CanaryFailed                       // the rest did not, and ought to if the canary was well
	CanaryWhilePaused                  // a canary ended while its bulk action was paused or stopped
	ApproveTaken                       // an owner was lost before it had written an approval
	ApprovedAgain                      // an approval came when there was nothing to approve
	RulesSurvived                      // changed rules were taken over
	ChangedShardAway                   // rules of a shared bulk action changed while a shard had no owner
	OwnRateKept                        // a bulk action's own rate was looked at
	BoundShared                        // all tasks that a bulk action allows itself were in flight, in several partitions
	EventRetold                        // an event was told again by another owner
	TenantFull                         // a tenant had all the tasks that it may have
	LimitsChanged                      // a task was started under limits that were changed while work ran
	PoisonContained                    // an item that ends its process failed for it
	SuspectTried                       // a suspect was run under a mark
	Filtered                           // a filter looked at items before they were called
	LateTold                           // it was told that a deadline will not be met
	numSituations
)

var situationNames = [...]string{
	"commit unknown and applied", "commit unknown and lost", "zombie commit refused", "takeover with calls under way",
	"completion after a takeover", "cancel races the last results", "poison isolated", "retry survives takeover",
	"pause survives takeover",
	"deadline", "failure rule", "created message twice", "claim refused", "lease in doubt", "clean hand-over", "unknown chain",
	"shared by partitions", "shared while it runs", "stale leader", "lane full", "hold survives takeover", "start races its time", "cancel of a held one",
	"canary holds", "canary does not hold", "canary ends while paused", "approval races a takeover", "approval repeated",
	"changed rules survive takeover",
	"change while a shard is away", "own rate", "shared bound used up", "event told again", "tenant at its bound", "limits changed",
	"poison contained", "suspect tried",
	"filter", "late for a deadline",
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
	a := &w.ledger.parts[o.partition]
	for _, m := range a.inbox[a.acked:] {
		if m.verb == partition.Approve && m.bulk.state() == weir.BulkAwaiting {
			w.met[ApproveTaken]++
		}
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
		if b.stored[o.partition] > 0 {
			w.met[RulesSurvived]++
		}
		if s := b.state(); s == weir.BulkSealed || s == weir.BulkScheduled || s == weir.BulkAwaiting {
			w.met[HoldSurvived]++
		}
		if b.state() == weir.BulkPaused {
			w.met[PauseSurvived]++
		}
		if o.node.steps(b.spec.Chain) == nil {
			w.met[ChainUnknown]++
		}
	}
}

// hears notes what a command finds.
func (w *World) hears(m *inboxed) {
	b := m.bulk
	switch s := b.state(); m.verb {
	case partition.Start:
		if gap := w.Now() - b.status.StartAt; b.status.StartAt != 0 && gap > -50*millis && gap < 50*millis {
			w.met[StartRaced]++
		}
	case partition.Approve:
		if s == weir.BulkRunning && b.phase == wholeRuns {
			w.met[ApprovedAgain]++
		}
	default:
	}
}

// situationsOfStart notes how far a bulk action is that was not simply started.
func (w *World) situationsOfStart(b *truth, was weir.BulkState) {
	s, c := b.state(), b.spec.Canary
	if s == weir.BulkAwaiting && was != s {
		w.awaits(b)
		if c.Auto {
			w.met[CanaryFailed]++
		}
	}
	held := s == weir.BulkPaused || s == weir.BulkStopped
	if c != nil && held && b.phase == canaryRuns && b.ended() >= c.Items {
		w.met[CanaryWhilePaused]++
	}
	if was.CanMove(weir.BulkRunning) && was != weir.BulkPaused && was != weir.BulkStopped && b.status.CancelCause == "user" {
		w.met[HeldCancelled]++
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
