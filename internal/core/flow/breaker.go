package flow

import (
	"fmt"
	"time"
)

const (
	tripShare   = 0.5 // of failures
	tripBuckets = 10  // of a second each
	tripCalls   = 20  // in ten seconds
	quickly     = 2   // seconds: many calls within these tell as much as ten seconds
	quickCalls  = 50
	tripInARow  = 10 // calls without a success between them
	// inARowFor is the least time over which these calls must have failed: a busy downstream is
	// not stopped for a short blip.
	inARowFor  = second / 2
	probeShare = 1. / 3 // of failures

	firstOpen = time.Second
	// longestOpen keeps recovery quick: a probe is one task per node, which costs the
	// downstream little, while every further second of waiting is lost.
	longestOpen = 10 * time.Second
	openJitter  = 0.2

	// stages is the number of probe stages of a half-open breaker; the tasks double with each:
	// 1, 2, 4, 8.
	stages = 4
	// calmAfter is how long a breaker has to stay closed for its next opening to count as the
	// first.
	calmAfter = int64(30 * time.Second)
)

// Phase is the state of a breaker.
type Phase string

// The phases.
const (
	Closed   Phase = "closed"    // all tasks run
	Open     Phase = "open"      // no task runs
	HalfOpen Phase = "half-open" // a few probe tasks run
)

// BreakerState describes a breaker for display.
type BreakerState struct {
	Phase  Phase
	Reason Reason
	// Until is when an open breaker lets the next task try, or when an operator's override
	// ends; 0 if no time is set.
	Until int64
	// Text gives the reason in one sentence with the numbers.
	Text string
	// Outage describes why the breaker is not closed.
	Outage Outage
}

// Outage is the time from the opening of a breaker until it closes again.
type Outage struct {
	Since         int64 // when it opened; 0: it is closed
	Failed, Calls int   // of so many calls that were counted then, so many had failed
	Probes        int   // times that it opened again since, because probe tasks failed
}

// Breaker stops calling a downstream that fails. It opens if half of the calls failed, of at
// least twenty within ten seconds or at least fifty within two, or if ten calls in a row failed
// over at least half a second. It stays open for one second at first and up to ten; then 1, 2,
// 4 and 8 probe tasks at a time test the downstream. It opens again once a third of the probes
// have failed, so a downstream that always fails a little is not locked out.
//
// Refusals for exceeding a rate do not count as failures: the rate rule handles them.
type Breaker struct {
	buckets [tripBuckets]bucket
	state   BreakerState
	chance  uint64

	unproven bool  // no task has succeeded yet; until one does, few may start
	first    int64 // when the first of the tasks in flight started
	proven   bool  // a task has succeeded
	inARow   int   // calls that failed since the last success
	rowFrom  int64 // when the first of these calls ended
	opened   int   // openings in a row
	closedAt int64 // 0: never opened
	manual   bool
	reopened bool

	// While half-open:
	from   int64 // results of tasks sent before are ignored
	stale  int   // number of those in flight
	stage  int
	good   int // results of the stage
	probes int // results of all stages
	bad    int
}

type bucket struct {
	second      int64
	calls, fail int
}

// NewBreaker returns a closed breaker. The seed makes nodes reopen at different times.
func NewBreaker(seed uint64) *Breaker {
	return &Breaker{chance: seed, state: BreakerState{Phase: Closed, Reason: Working, Text: "closed: no failures yet."}}
}

// State returns the phase and the reason for it.
func (b *Breaker) State() BreakerState { return b.state }

// Reopened reports, once per opening, that the resource is in use again. The caller then
// restarts the rate low, see [Restart].
func (b *Breaker) Reopened() bool {
	was := b.reopened
	b.reopened = false
	return was
}

// Allow reports whether a task may start with so many in flight on the resource at this node.
// If not, at is when to ask again, or [Never] if a result decides. If ok, the caller must start
// the task at now.
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

// probeFor is how long the first task of an unproven breaker runs alone. A slow downstream must
// not be mistaken for a dead one, so the bound doubles each time this span passes.
const probeFor = int64(2 * time.Second)

// Probe lets the first task test the downstream before more start, unless one has succeeded
// before.
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

// Ended records the end of a task sent at sentAt.
func (b *Breaker) Ended(now, sentAt int64, failed bool) {
	b.expire(now)
	first := !failed && b.unproven
	if !failed {
		b.proven, b.unproven = true, false
	}
	switch b.state.Phase {
	case Open: // tasks that were in flight when it opened
	case HalfOpen:
		if sentAt < b.from {
			b.stale = max(b.stale-1, 0)
			return
		}
		if first { // perhaps the earlier calls were wrong, not the downstream
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

// count records a call and opens the breaker if too many failed.
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
		b.open(now, Failing, 1, 1, "no call has succeeded yet, and the first failed")
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
		calls, fail = b.inARow, b.inARow
		what = fmt.Sprintf("%d calls in a row failed", b.inARow)
	}
	if b.closedAt != 0 && now-b.closedAt > calmAfter {
		b.opened = 0
	}
	b.open(now, Failing, calls, fail, what)
}

func trips(calls, fail, least int) bool {
	return calls >= least && float64(fail) >= tripShare*float64(calls)
}

// recent sums up the calls of the last span seconds.
func (b *Breaker) recent(s, span int64) (calls, fail int) {
	for _, x := range b.buckets {
		if x.second > s-span && x.second <= s {
			calls += x.calls
			fail += x.fail
		}
	}
	return calls, fail
}

func (b *Breaker) open(now int64, why Reason, calls, failed int, what string) {
	span := OpenFor(b.opened, draw(&b.chance))
	b.opened++
	out := b.state.Outage
	if out.Since == 0 {
		out = Outage{Since: now, Failed: failed, Calls: calls}
	} else {
		out.Probes++
	}
	b.state = BreakerState{
		Phase: Open, Reason: why, Until: now + span, Outage: out,
		Text: fmt.Sprintf("open for %s: %s.", seconds(span), what),
	}
}

// OpenFor returns how long a circuit stays open, in nanoseconds, that has opened so many times in a row
// before. chance, from 0 to under 1, spreads the openings of several nodes.
func OpenFor(before int, chance float64) int64 {
	span := float64(min(firstOpen<<min(before, 10), longestOpen))
	return int64(span * (1 + openJitter*(2*chance-1)))
}

func (b *Breaker) halfOpen(now int64, inFlight int) {
	b.from, b.stale = now, inFlight
	b.stage, b.good, b.probes, b.bad = 0, 0, 0, 0
	b.state = BreakerState{Phase: HalfOpen, Reason: Probing, Outage: b.state.Outage, Text: "half-open: one task tests whether calls succeed again."}
}

// probed records the result of a task of a half-open breaker.
func (b *Breaker) probed(now int64, failed bool) {
	b.probes++
	if failed {
		b.bad++
	}
	if failed && float64(b.bad) >= probeShare*float64(b.probes) {
		b.open(now, Relapsed, b.probes, b.bad, fmt.Sprintf("%d of %d probe calls failed", b.bad, b.probes))
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
	b.close(now, Recovered, fmt.Sprintf("closed: %d of %d probe calls succeeded.", b.probes-b.bad, b.probes))
}

func (b *Breaker) close(now int64, why Reason, text string) {
	b.buckets, b.inARow = [tripBuckets]bucket{}, 0
	b.closedAt, b.reopened = now, true
	b.state = BreakerState{Phase: Closed, Reason: why, Text: text}
}

// Force opens or closes the breaker by hand until a time. Results do not change it meanwhile.
func (b *Breaker) Force(now int64, open bool, until int64, why string) {
	b.manual = true
	phase, out := Closed, Outage{}
	if open {
		phase, out.Since = Open, now
	}
	if why == "" {
		why = "no reason given"
	}
	b.state = BreakerState{Phase: phase, Reason: ByHand, Until: until, Outage: out, Text: fmt.Sprintf("%s by hand: %s.", phase, why)}
}

// Release ends an override set by Force. A forced-open breaker probes the downstream before it
// closes.
func (b *Breaker) Release(now int64) {
	if !b.manual {
		return
	}
	b.manual = false
	if b.state.Phase == Open {
		b.state = BreakerState{Phase: Open, Reason: ByHand, Until: now, Outage: b.state.Outage, Text: "open by hand until now: a probe call decides."}
		return
	}
	b.buckets, b.inARow = [tripBuckets]bucket{}, 0
	b.state = BreakerState{Phase: Closed, Reason: Working, Text: "closed: no longer by hand."}
}

// Try lets the next task test the downstream now, instead of at the time that the breaker has
// set. It reports whether that changes anything: the breaker has to be open, and not by hand.
func (b *Breaker) Try(now int64) bool {
	b.expire(now)
	if b.state.Phase != Open || b.manual || b.state.Until <= now {
		return false
	}
	b.state.Until, b.state.Text = now, "open: the next call tests the downstream, as was asked for by hand."
	return true
}

// expire ends an override whose time has passed.
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
