package flow

import (
	"fmt"
	"time"
)

const (
	tripShare   = 0.5 // of failures
	tripBuckets = 10  // of a second each
	tripCalls   = 20  // in ten seconds
	quickly     = 2   // seconds in which many calls tell as much as ten
	quickCalls  = 50
	tripInARow  = 10 // calls without a success between them
	// inARowFor is for how long they must have failed, at least: a downstream with many
	// calls is not left alone because of a moment.
	inARowFor  = second / 2
	probeShare = 1. / 3 // of failures

	firstOpen = time.Second
	// longestOpen keeps the way back short: a probe is one task for each node, which
	// no downstream feels, while every second of waiting too long is a second lost.
	longestOpen = 10 * time.Second
	openJitter  = 0.2

	// stages is how many times the tasks of a half-open breaker double: 1, 2, 4, 8.
	stages = 4
	// calmAfter is how long a breaker has to stay closed for its next opening to be a first one.
	calmAfter = int64(30 * time.Second)
)

// Phase is what a breaker does with tasks.
type Phase string

// The phases.
const (
	Closed   Phase = "closed"    // tasks run
	Open     Phase = "open"      // none do
	HalfOpen Phase = "half-open" // a few do, to find out
)

// BreakerState is what people are shown of a breaker.
type BreakerState struct {
	Phase  Phase
	Reason Reason
	// Until is when it lets the next task try if it is open, or when a person's word
	// ends; 0 if no time is set.
	Until int64
	// Text says why in one sentence with the numbers.
	Text string
}

// Breaker stops calling a downstream that fails. It opens when half of the calls
// of ten seconds failed, of twenty at least, or of two seconds, of fifty at least, or
// ten in a row, over half a second at least: for one second at first and up to ten; then 1, 2, 4 and 8 tasks at a time find
// out whether it is over. It opens again once a third of them have failed, so a
// downstream that always fails a little is not locked out.
//
// Refusals for being too many are none of its business: they are not failures,
// and the rate answers to them.
type Breaker struct {
	buckets [tripBuckets]bucket
	state   BreakerState
	chance  uint64

	unproven bool  // no task has succeeded, and one has to before many may start
	first    int64 // when the first of those tasks that are in flight started
	proven   bool  // a task has succeeded
	inARow   int   // calls that failed since the last success
	rowFrom  int64 // when the first of them ended
	opened   int   // times in a row
	closedAt int64 // 0: never opened
	manual   bool
	reopened bool

	// While half-open:
	from   int64 // results of tasks sent before tell nothing
	stale  int   // how many of those are in flight
	stage  int
	good   int // results of the stage
	probes int // results of all stages
	bad    int
}

type bucket struct {
	second      int64
	calls, fail int
}

// NewBreaker returns a closed breaker. The seed spreads the openings of several nodes.
func NewBreaker(seed uint64) *Breaker {
	return &Breaker{chance: seed, state: BreakerState{Phase: Closed, Reason: Working, Text: "closed: no failures yet."}}
}

// State returns what the breaker does now and why.
func (b *Breaker) State() BreakerState { return b.state }

// Reopened reports once that the resource is in use again after an opening: the
// rate has to begin low, see [Restart].
func (b *Breaker) Reopened() bool {
	was := b.reopened
	b.reopened = false
	return was
}

// Allow tells whether a task may start with so many in flight on the resource at
// this node; if not, at is when to ask again, [Never] if a result will tell. Whoever
// is allowed starts the task at now.
func (b *Breaker) Allow(now int64, inFlight int) (ok bool, at int64) {
	b.expire(now)
	if b.state.Phase == Open && b.state.Until <= now && !b.manual {
		b.halfOpen(now, inFlight)
	}
	switch b.state.Phase {
	case Open:
		return false, b.state.Until
	case HalfOpen:
		b.stale = min(b.stale, inFlight)
		if inFlight-b.stale >= 1<<b.stage {
			return false, Never
		}
	case Closed:
		return b.allowUnproven(now, inFlight)
	}
	return true, now
}

// probeFor is how long the first task of an unproven breaker runs alone. A slow
// downstream must not be taken for a dead one, so twice as many tasks may then be in
// flight, and twice as many again each time.
const probeFor = int64(2 * time.Second)

// Probe has the first task find out whether the downstream works before many
// are started, unless one has succeeded before.
func (b *Breaker) Probe() { b.unproven = !b.proven }

// Unproven reports whether the breaker bounds the tasks in flight until one succeeds.
func (b *Breaker) Unproven() bool { return b.unproven }

func (b *Breaker) allowUnproven(now int64, inFlight int) (ok bool, at int64) {
	if !b.unproven {
		return true, now
	}
	if inFlight == 0 {
		b.first = now
	}
	step := (now - b.first) / probeFor
	if inFlight < 1<<min(step, 30) {
		return true, now
	}
	return false, b.first + (step+1)*probeFor
}

// Ended notes the end of a task that was sent at a time.
func (b *Breaker) Ended(now, sentAt int64, failed bool) {
	b.expire(now)
	first := !failed && b.unproven
	if !failed {
		b.proven, b.unproven = true, false
	}
	switch b.state.Phase {
	case Open: // what was in flight when it opened
	case HalfOpen:
		if sentAt < b.from {
			b.stale = max(b.stale-1, 0)
			return
		}
		if first { // the calls before were wrong, perhaps, and not the downstream
			b.opened = 0
			b.close(now, Recovered, "closed: a first call succeeded.")
			return
		}
		b.probed(now, failed)
	case Closed:
		if sentAt >= b.from {
			b.count(now, failed)
		}
	}
}

// count books a call and opens if too many failed.
func (b *Breaker) count(now int64, failed bool) {
	s := now / second
	x := &b.buckets[uint64(s)%tripBuckets]
	if x.second != s {
		*x = bucket{second: s}
	}
	x.calls++
	if !failed {
		b.inARow = 0
		return
	}
	x.fail++
	if b.inARow++; b.inARow == 1 {
		b.rowFrom = now
	}
	if b.manual {
		return
	}
	if b.unproven {
		b.open(now, Failing, "no call has succeeded yet, and the first failed")
		return
	}
	span, least := int64(quickly), quickCalls
	calls, fail := b.recent(s, span)
	if !trips(calls, fail, least) {
		span, least = tripBuckets, tripCalls
		calls, fail = b.recent(s, span)
	}
	what := fmt.Sprintf("%d of %d calls of the last %d s failed", fail, calls, span)
	if !trips(calls, fail, least) {
		if b.inARow < tripInARow || now-b.rowFrom < inARowFor {
			return
		}
		what = fmt.Sprintf("%d calls in a row failed", b.inARow)
	}
	if b.closedAt != 0 && now-b.closedAt > calmAfter {
		b.opened = 0
	}
	b.open(now, Failing, what)
}

func trips(calls, fail, least int) bool {
	return calls >= least && float64(fail) >= tripShare*float64(calls)
}

// recent sums up the calls of the last seconds.
func (b *Breaker) recent(s, span int64) (calls, fail int) {
	for _, x := range b.buckets {
		if x.second > s-span && x.second <= s {
			calls += x.calls
			fail += x.fail
		}
	}
	return calls, fail
}

func (b *Breaker) open(now int64, why Reason, what string) {
	span := float64(min(firstOpen<<min(b.opened, 10), longestOpen))
	span *= 1 + openJitter*(2*draw(&b.chance)-1)
	b.opened++
	b.state = BreakerState{
		Phase: Open, Reason: why, Until: now + int64(span),
		Text: fmt.Sprintf("open for %s: %s.", seconds(int64(span)), what),
	}
}

func (b *Breaker) halfOpen(now int64, inFlight int) {
	b.from, b.stale = now, inFlight
	b.stage, b.good, b.probes, b.bad = 0, 0, 0, 0
	b.state = BreakerState{Phase: HalfOpen, Reason: Probing, Text: "half-open: 1 task finds out whether it is over."}
}

// probed books the result of a task of a half-open breaker.
func (b *Breaker) probed(now int64, failed bool) {
	b.probes++
	if failed {
		b.bad++
	}
	if failed && float64(b.bad) >= probeShare*float64(b.probes) {
		b.open(now, Relapsed, fmt.Sprintf("%d of %d tasks that were to find out failed", b.bad, b.probes))
		return
	}
	if b.good++; b.good < 1<<b.stage {
		return
	}
	b.good = 0
	if b.stage++; b.stage < stages {
		b.state.Text = fmt.Sprintf("half-open: %d of %d tasks succeeded, %d at a time are next.", b.probes-b.bad, b.probes, 1<<b.stage)
		return
	}
	b.close(now, Recovered, fmt.Sprintf("closed: %d of %d tasks that were to find out succeeded.", b.probes-b.bad, b.probes))
}

func (b *Breaker) close(now int64, why Reason, text string) {
	b.buckets, b.inARow = [tripBuckets]bucket{}, 0
	b.closedAt, b.reopened = now, true
	b.state = BreakerState{Phase: Closed, Reason: why, Text: text}
}

// Force opens or closes the breaker by hand until a time; what it sees meanwhile
// changes nothing.
func (b *Breaker) Force(_ int64, open bool, until int64, why string) {
	b.manual = true
	phase := Closed
	if open {
		phase = Open
	}
	if why == "" {
		why = "no reason given"
	}
	b.state = BreakerState{Phase: phase, Reason: ByHand, Until: until, Text: fmt.Sprintf("%s by hand: %s.", phase, why)}
}

// Release ends what Force began. An open breaker finds out first how the downstream is.
func (b *Breaker) Release(now int64) {
	if !b.manual {
		return
	}
	b.manual = false
	if b.state.Phase == Open {
		b.state = BreakerState{Phase: Open, Reason: ByHand, Until: now, Text: "open by hand until now: a task will find out how it is."}
		return
	}
	b.buckets, b.inARow = [tripBuckets]bucket{}, 0
	b.state = BreakerState{Phase: Closed, Reason: Working, Text: "closed: no longer by hand."}
}

// expire ends a person's word when its time has come.
func (b *Breaker) expire(now int64) {
	if b.manual && b.state.Until <= now {
		b.Release(now)
	}
}

// draw returns a number from 0 to under 1 and moves the state on (splitmix64).
func draw(state *uint64) float64 {
	*state += 0x9e3779b97f4a7c15
	z := *state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return float64((z^z>>31)>>11) / (1 << 53)
}
