package flow

import (
	"fmt"
	"math"
	"time"
)

const (
	// crowdSure is the evidence of refusals in spite of a cut that starts a trial, of at least
	// leastCrowd tasks, and that decides it. While most tasks are refused, the rate has not
	// been found.
	crowdSure, leastCrowd, saturates = 3.5, 20, 0.5
	// A trial is judged by crowdTasks tasks, or after longestCrowd by those there were. If the
	// bound does not explain the refusals, one less is tried, up to crowdSteps times.
	crowdTasks, longestCrowd, crowdSteps = 40, int64(5 * time.Second), 3
	// explains is the factor by which a bound that explains the refusals reduces them, and
	// asFast the share of the earlier throughput that it must keep.
	explains, asFast = 2.5, 0.93
	// A number in flight that varies by less than unvaried of itself tells nothing. Otherwise
	// refusals have to correlate with more in flight, by clearly standard errors.
	unvaried, clearly = 0.1, 2.5

	// One more than the bound is tried soon after it was set, and then seldom.
	firstProbe, longestProbe = int64(time.Second), int64(20 * time.Second)
	// over is the least share of refusals among tasks above a correct bound.
	over = 0.4
	// raiseAt, stopAt and backAt are the evidence for a higher bound, against one, and that a
	// raise was wrong.
	raiseAt, stopAt, backAt = -6.0, 3.0, 6.0

	// A bound that is not reached for unusedFor is dropped. After a bound that explained
	// nothing, no other is tried for firstAgain, each time longer.
	unusedFor                = int64(time.Minute)
	firstAgain, longestAgain = int64(3 * time.Second), int64(5 * time.Minute)
)

// Parallel finds out how many concurrent tasks a downstream takes before it refuses.
//
// When tasks are refused although the rate was cut, it bounds the tasks in flight, on trial, to
// the number that was in flight when others were refused. If far fewer are refused then and as
// much passes, the bound explains the refusals and stays. If not, it tries one less, or one
// more if too little passes, a few times, and then ends the search without a bound. A bound is
// dropped if as much is refused under it as before.
//
// Now and then it tries a single task above the bound. If many in a row pass, the bound grows,
// and has to prove itself again.
//
// The zero value has no bound.
type Parallel struct {
	bound int // 0: none
	first int // as it was found
	wait  int64

	from   int64  // start of the counts below
	tasks  weight // that were sent
	crowd  int    // sum of the tasks in flight when others were refused
	level  int    // in flight
	peak   int
	levels levels

	trial   bool
	drained bool // the tasks above the bound on trial have ended
	before  weight
	held    weight  // the same for the bound in force
	rate    float64 // at which tasks passed before the trial
	steps   int
	tried   int64 // start of the trial
	again   int64 // pause after a trial that explained nothing
	notTill int64

	usual  weight // what was refused under the bound
	raised int    // the last raise, which has to prove itself; 0: it has
	doubt  float64
	lean   float64 // evidence about one more; above 0: against it
	probes bool    // a probe may be sent
	probe  int64   // when the probe was sent, 0: none in flight
	next   int64   // when to probe next
	used   int64   // when the bound was last reached
	since  int64   // when it was found
}

// Bound returns the maximum number of tasks in flight now, 0 for no bound.
func (p *Parallel) Bound() int {
	if p.bound > 0 && p.probes && p.probe == 0 {
		return p.bound + 1
	}
	return p.bound
}

// From returns the start of the counts that may lead to a trial.
func (p *Parallel) From() int64 { return p.from }

// Failed reports whether a recent trial explained nothing.
func (p *Parallel) Failed() bool { return p.again > 0 }

// Trial reports whether a bound is on trial. Tasks sent meanwhile say nothing about the rate.
func (p *Parallel) Trial() bool { return p.trial }

// Text describes the bound in a sentence; it is empty without one.
func (p *Parallel) Text() string {
	switch {
	case p.bound == 0:
		return ""
	case p.trial:
		return fmt.Sprintf("%d in flight on trial: %.0f %% were refused with more at once.", p.bound, 100*p.before.share())
	}
	return fmt.Sprintf("%d in flight: the downstream refuses more at once. One more is tried every few seconds.", p.bound)
}

// Sent records the start of a task, with the number in flight including itself.
func (p *Parallel) Sent(now int64, inFlight int) {
	p.note(now, inFlight)
	p.tasks.Tasks++
	if p.bound > 0 && inFlight > p.bound && p.probes && p.probe == 0 {
		p.probe = now
	}
}

// note records the number in flight.
func (p *Parallel) note(now int64, inFlight int) {
	p.level = inFlight
	if p.peak = max(p.peak, inFlight); p.bound > 0 && inFlight >= p.bound {
		p.used, p.since = now, now
	}
}

// Ended records the end of a task: when it was sent, how many were in flight then, and how many
// still are. It reports whether the task was a probe above the bound.
func (p *Parallel) Ended(now, sent int64, level, inFlight int, refused bool) (probe bool) {
	p.note(now, inFlight)
	if sent >= p.from {
		p.levels.add(float64(level), refused)
	}
	hit := weight{Tasks: 1}
	if refused {
		hit.Hits = 1
	}
	if refused && sent >= p.from {
		p.tasks.Hits++
		p.crowd += inFlight
	}
	switch {
	case p.bound == 0 || p.trial:
	case p.probe != 0 && sent == p.probe:
		p.probe = 0
		p.probed(now, hit)
		return true
	case p.raised > 0:
		p.prove(now, hit)
	default:
		if p.usual = p.usual.plus(hit); p.usual.Tasks > usualTasks {
			p.usual = p.usual.times(0.5)
		}
	}
	return false
}

// base returns the share of refusals under the bound, whatever their cause.
func (p *Parallel) base() float64 { return min(max(p.usual.share(), next), over/2) }

// probed evaluates a probe above the bound.
func (p *Parallel) probed(now int64, hit weight) {
	switch p.lean += hit.speaks(p.base(), over); {
	case p.lean >= stopAt: // the bound holds
		p.stop(now)
	case p.lean <= raiseAt:
		p.raised = 1 + p.bound/16
		p.bound += p.raised
		p.lean, p.doubt, p.probes = 0, 0, false
		p.wait = firstProbe
		if p.bound > 2*p.first+2 {
			p.drop()
		}
	}
}

// stop delays the next probe, longer each time.
func (p *Parallel) stop(now int64) {
	p.probes, p.lean = false, 0
	p.next = now + p.wait
	p.wait = min(2*p.wait, longestProbe)
}

// prove judges a raised bound by the refusals under it.
func (p *Parallel) prove(now int64, hit weight) {
	switch p.doubt += hit.speaks(p.base(), 1.5*p.base()+0.1); {
	case p.doubt <= -backAt:
		p.raised, p.probes = 0, true
	case p.doubt >= backAt:
		p.bound -= p.raised
		p.raised, p.wait = 0, max(2*p.wait, 8*second)
		p.stop(now)
	}
}

func (p *Parallel) drop() {
	p.bound, p.first, p.raised, p.probes, p.probe, p.trial = 0, 0, 0, false, 0, false
}

// Look must be called every [Window]. limited reports whether refusals have cut the rate, and
// base is the share of refusals known to have other causes. changed reports that a trial
// started or ended, or that a bound that explained nothing was dropped; found reports a bound
// that explains the refusals.
func (p *Parallel) Look(now int64, limited bool, base float64) (changed, found bool) {
	if p.trial {
		return p.judge(now)
	}
	if p.bound > 0 {
		p.maintain(now)
		base = max(base, p.usual.share())
	}
	switch evidence := p.tasks.speaks(base+few, base+10*few); {
	case p.bound > 0 && (against(p.held, p.usual) > crowdSure || p.tasks.Tasks >= leastCrowd && evidence >= crowdSure):
		p.drop() // it does not explain the refusals, or no longer does
		p.later(now)
		p.reset(now)
		changed = true
	case p.bound == 0 && (!limited || p.tasks.share() > saturates), evidence <= 0:
		p.reset(now)
	case p.bound == 0 && p.tasks.Tasks >= leastCrowd && evidence >= crowdSure && now >= p.notTill && p.levels.matter():
		p.steps, p.before, p.rate = 0, p.tasks, p.passed(now)
		changed = p.lower(now)
		p.reset(now)
	}
	return changed, false
}

// passed returns how many tasks per second were not refused.
func (p *Parallel) passed(now int64) float64 {
	return (p.tasks.Tasks - p.tasks.Hits) / max(float64(now-p.from)/1e9, 1e-3)
}

// maintain allows a probe when one is due, and drops a bound that is not reached.
func (p *Parallel) maintain(now int64) {
	if now-p.since > unusedFor { // it has proved to be right
		p.again = 0
	}
	switch {
	case now-p.used > unusedFor:
		p.drop()
	case p.probe != 0 && now-p.probe > unusedFor: // its end was never reported
		p.probe = 0
	case p.raised == 0 && now >= p.next:
		p.probes = true
	}
}

// lower starts a trial with the number that was in flight when others were refused.
func (p *Parallel) lower(now int64) bool {
	k := p.bound - 1
	if p.bound == 0 {
		k = int(math.Round(float64(p.crowd) / max(p.tasks.Hits, 1)))
	}
	return k < p.peak && p.try(now, k)
}

// try puts a bound on trial.
func (p *Parallel) try(now int64, k int) bool {
	if k < 1 || p.steps > crowdSteps {
		return false
	}
	p.steps++
	p.trial, p.drained, p.tried = true, false, now
	p.bound, p.raised, p.probes, p.probe = k, 0, false, 0
	return true
}

// judge ends a trial as soon as it has shown enough.
func (p *Parallel) judge(now int64) (changed, found bool) {
	switch {
	case !p.drained:
		p.drained = p.level <= p.bound || now-p.tried > longestCrowd
		p.reset(now)
		return false, false
	case (p.tasks.Tasks < crowdTasks || now-p.from < 2*windowNanos) && now-p.tried < longestCrowd:
		return false, false
	}
	against, fast := against(p.before, p.tasks), p.passed(now) >= asFast*p.rate
	fewer := against <= -crowdSure
	explained := fewer && fast
	switch {
	case math.Abs(against) < crowdSure && now-p.tried < longestCrowd:
		return false, false
	case explained:
		p.trial, p.first = false, p.bound
		p.usual, p.held, p.wait = p.tasks, p.before, firstProbe
		p.used, p.since = now, now
		p.stop(now)
	case fewer && p.try(now, p.bound+1), fast && !fewer && p.lower(now): // too few, or too many
		p.reset(now)
		return false, false
	default:
		p.drop()
		p.later(now)
	}
	p.reset(now)
	return true, explained
}

// against returns how strongly tasks under a bound speak against it: as much is refused as
// before.
func against(before, w weight) float64 {
	return w.speaks(before.share()/explains, before.share())
}

// later delays the next trial, longer each time.
func (p *Parallel) later(now int64) {
	p.again = min(max(2*p.again, firstAgain), longestAgain)
	p.notTill = now + p.again
}

// reset restarts the counts.
func (p *Parallel) reset(now int64) {
	p.from, p.tasks, p.crowd, p.peak, p.levels = now, weight{}, 0, p.level, levels{}
}

// levels compares the number in flight when refused tasks were sent with that of all tasks.
type levels struct {
	tasks, sum, squares float64
	hits, hitSum        float64
}

func (l *levels) add(level float64, refused bool) {
	l.tasks++
	l.sum += level
	l.squares += level * level
	if refused {
		l.hits++
		l.hitSum += level
	}
}

// matter reports whether refusals may depend on the number in flight. They do not if it was not
// clearly higher when tasks were refused. A number that hardly changes proves nothing.
func (l *levels) matter() bool {
	mean := l.sum / max(l.tasks, 1)
	deviation := math.Sqrt(max(l.squares/max(l.tasks, 1)-mean*mean, 0))
	return deviation < unvaried*mean || l.hitSum/max(l.hits, 1)-mean > clearly*deviation/math.Sqrt(max(l.hits, 1))
}
