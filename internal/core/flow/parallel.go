package flow

import (
	"fmt"
	"math"
	"time"
)

const (
	// crowdSure is the evidence of refusals in spite of a cut that has a bound tried, of
	// leastCrowd tasks, and that decides about it. While most is refused the rate has not been found.
	crowdSure, leastCrowd, saturates = 3.5, 20, 0.5
	// A trial is judged by so many tasks, or by what there was after longestCrowd. If it does not
	// explain the refusals one less is tried, crowdSteps times.
	crowdTasks, longestCrowd, crowdSteps = 40, int64(5 * time.Second), 3
	// explains is how many times fewer refusals there are under a bound that explains them, and
	// asFast the share of what got through before.
	explains, asFast = 2.5, 0.93
	// A number in flight that varies by less than a part of itself tells nothing, else refusals
	// have to go with more in flight, by so many times as much as chance explains.
	unvaried, clearly = 0.1, 2.5

	// One more than the bound is tried soon after it was set, and then seldom.
	firstProbe, longestProbe = int64(time.Second), int64(20 * time.Second)
	// A task above a bound that is right is refused with a share of over, at least.
	over = 0.4
	// raiseAt, stopAt and backAt are the evidence for a higher bound, against one, and that a
	// higher one was wrong.
	raiseAt, stopAt, backAt = -6.0, 3.0, 6.0

	// A bound that nothing came up to for unusedFor is dropped. After one that explained nothing
	// none is tried for firstAgain, each time longer.
	unusedFor                = int64(time.Minute)
	firstAgain, longestAgain = int64(3 * time.Second), int64(5 * time.Minute)
)

// Parallel finds out how many tasks at once a downstream takes before it refuses.
//
// When tasks are refused although the rate was cut, it bounds the tasks in flight, on trial, to
// as many as there were when others were refused. If far fewer are refused then and as much gets
// through, the bound explains the refusals and stays. If not, one less is tried, or one more if too
// little gets through, a few times, and then the search ends without a bound. A bound is dropped
// if as much is refused under it as before.
//
// A single task above the bound is tried now and then. If many in a row pass the bound grows,
// and has to prove itself again.
//
// The zero value has no bound.
type Parallel struct {
	bound int // 0: none
	first int // as it was found
	wait  int64

	from   int64  // of what is counted here
	tasks  weight // that were sent
	crowd  int    // tasks that were in flight when others were refused, in all
	level  int    // in flight
	peak   int
	levels levels

	trial   bool
	drained bool // the tasks above the bound on trial have ended
	before  weight
	held    weight  // the same of the bound that is in force
	rate    float64 // at which tasks passed before
	steps   int
	tried   int64 // since when
	again   int64 // how long no other is tried after one that explained nothing
	notTill int64

	usual  weight // what was refused under the bound
	raised int    // by how many it was, which has to prove itself; 0: it has
	doubt  float64
	lean   float64 // evidence about one more: above 0 against it
	probes bool    // one more may be sent
	probe  int64   // when one was sent, 0: none is in flight
	next   int64   // when to probe
	used   int64   // when the bound was last reached
	since  int64   // when it was found
}

// Bound returns the most tasks that should be in flight now, 0 for no bound.
func (p *Parallel) Bound() int {
	if p.bound > 0 && p.probes && p.probe == 0 {
		return p.bound + 1
	}
	return p.bound
}

// From is since when is counted what may have a bound tried.
func (p *Parallel) From() int64 { return p.from }

// Failed reports whether a bound was tried not long ago that explained nothing.
func (p *Parallel) Failed() bool { return p.again > 0 }

// Trial reports whether a bound is on trial: what is sent meanwhile tells nothing of the rate.
func (p *Parallel) Trial() bool { return p.trial }

// Text says in a sentence what was found; empty: nothing.
func (p *Parallel) Text() string {
	switch {
	case p.bound == 0:
		return ""
	case p.trial:
		return fmt.Sprintf("%d in flight on trial: %.0f %% were refused with more at once.", p.bound, 100*p.before.share())
	}
	return fmt.Sprintf("%d in flight: the downstream refuses more at once. One more is tried every few seconds.", p.bound)
}

// Sent notes that a task starts, with how many in flight, itself included.
func (p *Parallel) Sent(now int64, inFlight int) {
	p.note(now, inFlight)
	p.tasks.Tasks++
	if p.bound > 0 && inFlight > p.bound && p.probes && p.probe == 0 {
		p.probe = now
	}
}

// note looks at how many are in flight.
func (p *Parallel) note(now int64, inFlight int) {
	p.level = inFlight
	if p.peak = max(p.peak, inFlight); p.bound > 0 && inFlight >= p.bound {
		p.used, p.since = now, now
	}
}

// Ended notes that a task ended which was sent at a time, with so many in flight, and how many
// still are. It reports whether the task was there to try one more.
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

// base is the share that is refused under the bound, whatever it is.
func (p *Parallel) base() float64 { return min(max(p.usual.share(), next), over/2) }

// probed takes a task above the bound into account.
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

// stop lets the next probe wait, longer each time.
func (p *Parallel) stop(now int64) {
	p.probes, p.lean = false, 0
	p.next = now + p.wait
	p.wait = min(2*p.wait, longestProbe)
}

// prove judges a bound that was raised by what is refused under it.
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

// Look is to be called every [Window], with whether refusals have had the rate cut, and the
// share that is known to be refused for other reasons. It reports that a trial has begun or
// ended, or a bound has gone that explained nothing, and whether one was found that does.
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
		p.drop() // it does not explain them, or not any more
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

// passed is how many tasks a second were not refused.
func (p *Parallel) passed(now int64) float64 {
	return (p.tasks.Tasks - p.tasks.Hits) / max(float64(now-p.from)/1e9, 1e-3)
}

// maintain lets a probe go when it is time to, and drops a bound that nothing comes up to.
func (p *Parallel) maintain(now int64) {
	if now-p.since > unusedFor { // it has shown to be right
		p.again = 0
	}
	switch {
	case now-p.used > unusedFor:
		p.drop()
	case p.probe != 0 && now-p.probe > unusedFor: // never heard of again
		p.probe = 0
	case p.raised == 0 && now >= p.next:
		p.probes = true
	}
}

// lower begins a trial of as many as were in flight when others were refused.
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

// against is how strongly tasks under a bound speak against it: as much is refused as before.
func against(before, w weight) float64 {
	return w.speaks(before.share()/explains, before.share())
}

// later lets the next trial wait, longer each time.
func (p *Parallel) later(now int64) {
	p.again = min(max(2*p.again, firstAgain), longestAgain)
	p.notTill = now + p.again
}

// reset begins to count anew.
func (p *Parallel) reset(now int64) {
	p.from, p.tasks, p.crowd, p.peak, p.levels = now, weight{}, 0, p.level, levels{}
}

// levels compares how many were in flight when the tasks were sent that were refused with how
// many were when any was.
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

// matter tells that refusals may go with how many are in flight. They do not if there were not clearly
// more when tasks were refused. A number that hardly changes goes with anything.
func (l *levels) matter() bool {
	mean := l.sum / max(l.tasks, 1)
	deviation := math.Sqrt(max(l.squares/max(l.tasks, 1)-mean*mean, 0))
	return deviation < unvaried*mean || l.hitSum/max(l.hits, 1)-mean > clearly*deviation/math.Sqrt(max(l.hits, 1))
}
