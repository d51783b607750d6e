package limit

// Cause is the reason of a gate's refusal.
type Cause uint8

// The causes.
const (
	CauseNone        Cause = iota // not refused
	CauseRate                     // the resource's rate is used up for now
	CauseConcurrency              // the resource has as many tasks in flight as it may
	CauseClosed                   // the resource is closed for a while
	CauseBearable                 // the downstream has as many tasks in flight as it was found to take
	CauseCircuit                  // the downstream fails; its circuit is open
	CauseFirstCall                // the first call to the resource has not succeeded yet
)

var causeNames = [...]string{"none", "rate", "concurrency", "closed", "bearable", "circuit", "first_call"}

// String returns the cause's name in logs and metrics.
func (c Cause) String() string { return causeNames[c] }
