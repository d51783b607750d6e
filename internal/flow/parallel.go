package flow

import (
	"fmt"
	"math"
	"time"
)

const (
	// crowdBins is how many numbers in flight are told apart: each up to crowdExact, and
	// above that those that differ by a twentieth.
	crowdExact, crowdBins = 64, 192
	// halfLife is after how long what was seen counts half, if it is enough.
	halfLife, halfTasks = int64(10 * time.Second), 2000

	// A bound is set if so many tasks were refused above it, a share that is larger by
	// crowdShare than below it, and that it explains them is so much more likely.
	crowdHits, crowdShare, crowdSure = 4, 0.1, 12.0
	// crowdLow is how many tasks must have been sent below it.
	crowdLow = 20

	// mostEarly bounds the refusals that are not counted yet.
	mostEarly = 1024

	// probeEvery is how often one more is tried, the longest twice as often refused.
	probeEvery, longestProbe = int64(10 * time.Second), int64(40 * time.Second)
	// After a bound that was wrong, none is looked for during so long, each time longer.
	firstAgain, longestAgain = int64(30 * time.Second), int64(10 * time.Minute)
	// A task above the bound is refused with a share of over if the bound is right.
	// raiseAt and stopAt are the evidence that decides whether it is.
	over, raiseAt, stopAt = 0.4, -2.4, 1.2
	// backAt is the evidence that decides about a bound that was raised.
	backAt = 6.0
)

// Parallel finds out how many tasks at once a downstream takes before it refuses. Refusals
// that come only with more than a number in flight, at any rate, are a limit of that
// number: it is the bound from then on. Every ten seconds a single task above it asks
// whether that still holds; as long as such tasks pass, the bound grows. A bound that
// was set in error is gone within seconds for that reason.
//
// The zero value has no bound.
type Parallel struct {
	bins   [crowdBins]weight
	tasks  float64
	halved int64
	early  []early
	takes  float64 // nanoseconds that a task takes which passes

	bound   int     // 0: none
	first   int     // as it was found
	base    float64 // share that is refused below the bound
	lean    float64 // evidence about one more: above 0 against it
	raised  bool    // it was, and is being tried
	doubt   float64 // evidence about that: above 0 against it
	probing bool    // one more may be sent
	out     bool    // one more was sent
	probeAt int64
	wait    int64
	found   bool

	again     int64 // how long no other is looked for after one that was wrong
	notBefore int64
}

// Bound returns the most tasks that should be in flight, 0 for no bound.
func (p *Parallel) Bound() int { return p.bound }

// Found reports, once, that a bound was set or lowered. Cuts of the rate before
// were for what it explains.
func (p *Parallel) Found() bool {
	was := p.found
	p.found = false
	return was
}

// Text says in a sentence what was found; empty: nothing.
func (p *Parallel) Text() string {
	if p.bound == 0 {
		return ""
	}
	return fmt.Sprintf("%d in flight: with more at once the downstream refuses, at any rate.", p.bound)
}

// Allow tells whether one more task may start while so many are in flight. If it
// does, the task has to be started.
func (p *Parallel) Allow(now int64, inFlight int) bool {
	switch {
	case p.bound == 0 || inFlight < p.bound:
		return true
	case inFlight > p.bound || p.out || !p.probing && now < p.probeAt:
		return false
	}
	p.probing, p.out = true, true
	return true
}

// Ended notes that a task ended which was sent at a time, with so many in flight,
// itself included.
func (p *Parallel) Ended(now, sent int64, inFlight int, refused bool) {
	p.age(now)
	hit := 0.0
	if refused {
		hit = 1
		p.early = append(p.early, early{sent + int64(2*p.takes), binOf(inFlight)})
	} else {
		p.takes += (float64(now-sent) - p.takes) / 16
		p.note(binOf(inFlight), 0)
	}
	switch {
	case p.bound == 0:
	case inFlight > p.bound:
		p.probed(now, hit)
	case inFlight == p.bound && p.raised:
		p.tried(now, hit)
	}
	p.catchUp(now)
}

// early is a refusal that counts at a time. A call that is refused ends sooner than one
// that passes: counted at once, the latest calls would all seem to be refused.
type early struct {
	at  int64
	bin int
}

// catchUp counts the refusals whose time has come.
func (p *Parallel) catchUp(now int64) {
	n := 0
	for n < len(p.early) && (p.early[n].at <= now || len(p.early)-n > mostEarly) {
		p.note(p.early[n].bin, 1)
		n++
	}
	if n > 0 {
		p.early = p.early[:copy(p.early, p.early[n:])]
		p.search(now)
	}
}

func (p *Parallel) note(bin int, hit float64) {
	p.tasks++
	p.bins[bin] = p.bins[bin].plus(weight{1, hit})
}

// Forget drops what was seen, but no bound: it is to be called when the rate is
// cut by a quarter or more. What was refused at the higher rate, with more in flight because of it, would
// look like a limit of the number.
func (p *Parallel) Forget() { p.bins, p.tasks, p.early = [crowdBins]weight{}, 0, p.early[:0] }

// age lets what was seen count less as time goes by.
func (p *Parallel) age(now int64) {
	if now-p.halved < halfLife || p.tasks < halfTasks {
		return
	}
	p.halved = now
	p.tasks /= 2
	for i := range p.bins {
		p.bins[i] = p.bins[i].times(0.5)
	}
}

// probed takes a task above the bound into account.
func (p *Parallel) probed(now int64, hit float64) {
	p.out = false
	if !p.probing {
		return
	}
	base := min(max(p.base, next), over/2)
	switch p.lean += (weight{1, hit}).speaks(base, over); {
	case p.lean >= stopAt:
		p.probing, p.lean = false, 0
		p.wait = min(2*p.wait, longestProbe)
		p.probeAt = now + p.wait
	case p.lean <= raiseAt:
		p.lean = 0
		p.wait = probeEvery
		p.raised, p.doubt = true, 0
		if p.bound++; 2*p.bound > 3*p.first {
			p.drop(now)
		}
	}
}

// tried takes a task into account that was sent up to a bound that was raised: if these
// are refused more often than others, it goes back.
func (p *Parallel) tried(now int64, hit float64) {
	base := min(max(p.base, next), over)
	switch p.doubt += (weight{1, hit}).speaks(base, 1.5*base+0.1); {
	case p.doubt <= -backAt:
		p.raised = false
	case p.doubt >= backAt:
		p.bound, p.raised, p.probing, p.out = p.bound-1, false, false, false
		p.wait = min(2*p.wait, longestProbe)
		p.probeAt = now + p.wait
	}
}

// drop gives up a bound that was not right, or is not any more.
func (p *Parallel) drop(now int64) {
	p.bound, p.raised, p.probing, p.out = 0, false, false, false
	p.Forget()
	p.again = min(max(2*p.again, firstAgain), longestAgain)
	p.notBefore = now + p.again
}

// search looks for the number in flight that explains the refusals best.
func (p *Parallel) search(now int64) {
	var all weight
	for _, b := range p.bins {
		all = all.plus(b)
	}
	if all.Hits < crowdHits || all.Tasks < crowdLow || now < p.notBefore {
		return
	}
	var low, at weight
	best, bin := crowdSure, -1
	for i, b := range p.bins {
		low = low.plus(b)
		high := weight{all.Tasks - low.Tasks, all.Hits - low.Hits}
		if low.Tasks < crowdLow || high.Hits < crowdHits || high.share() < low.share()+crowdShare {
			continue
		}
		if g := low.likely() + high.likely() - all.likely(); g > best {
			best, bin, at = g, i, low
		}
	}
	if bin < 1 || p.bound > 0 && numberOf(bin) >= p.bound {
		return
	}
	p.bound, p.base, p.found = numberOf(bin), at.share(), true
	p.first, p.raised = p.bound, false
	p.probing, p.lean, p.wait = false, 0, probeEvery
	p.probeAt = now + p.wait
	p.Forget()
}

// likely is the logarithm of how likely the tasks are with the share that they show.
func (w weight) likely() float64 {
	l := 0.0
	if s := w.share(); s > 0 && s < 1 {
		l = w.Hits*math.Log(s) + (w.Tasks-w.Hits)*math.Log(1-s)
	}
	return l
}

func binOf(n int) int {
	if n <= crowdExact {
		return max(n, 0)
	}
	return min(crowdExact+1+int(math.Log(float64(n)/crowdExact)*20), crowdBins-1)
}

// numberOf is the largest number of a bin.
func numberOf(bin int) int {
	if bin <= crowdExact {
		return bin
	}
	return int(math.Ceil(crowdExact*math.Exp(float64(bin-crowdExact)/20))) - 1
}
