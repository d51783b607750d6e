package partition

// Turn is a change of a bulk action that no command made.
type Turn struct {
	At     int64    `json:"at"`
	Kind   TurnKind `json:"kind"`
	Reason string   `json:"reason,omitempty"`
	Done   int64    `json:"done,omitempty"` // items, at that time
	Failed int64    `json:"failed,omitempty"`
}

// TurnKind says what happened.
type TurnKind string

// All kinds of turns.
const (
	TurnStopped   TurnKind = "stopped"        // by its rule, or because no call succeeded
	TurnCancelled TurnKind = "rule_cancelled" // by its rule
	TurnExpired   TurnKind = "expired"        // its deadline has come
	TurnLate      TurnKind = "late"           // its deadline will not be met
	TurnCanary    TurnKind = "canary_ready"   // its canary has ended; it waits for an approval
	TurnRest      TurnKind = "canary_passed"  // its canary has ended, and the rest runs
	TurnBegan     TurnKind = "began"          // its start time has come
)

// mostTurns bounds the turns of a bulk action that are kept: a rule can stop it after each resume.
const mostTurns = 32

// turn notes a change; the newest are kept. The caller has the status written.
func (b *bulk) turn(now int64, kind TurnKind, reason string) {
	if b.away() {
		return
	}
	s := &b.status
	if len(s.Turns) >= mostTurns {
		s.Turns = s.Turns[len(s.Turns)-mostTurns+1:]
	}
	s.Turns = append(s.Turns[:len(s.Turns):len(s.Turns)], Turn{now, kind, reason, s.Done, s.Failed})
}
