package flow

import (
	"math"
	"time"
)

const (
	// enough is the evidence that cuts a rate without a known limit, about three refused tasks
	// in a row. sure is the evidence needed above a base: there a thousand tasks a second must
	// not look like more by chance within minutes.
	enough, sure = 4.5, 8
	// many is the number of refused tasks from which on their share is an estimate of its own.
	many = 5
	// plenty is the number from which on that estimate is trusted without regard to chance.
	// bold bounds what is left of the rate if one window has many refused tasks, or fairly many
	// tasks.
	plenty, fairly, bold = 12, 15, 0.7
	// large is a share of refusals that chance does not explain.
	large = 0.1
	// shallow is how far below the rate fewer refused tasks may lower the estimate. With the
	// margin below an estimate this is a tenth of the rate.
	shallow = 0.04
	// saturated is the part of the rate in force from which on a window shows what the
	// downstream lets pass, and not how much there was to send.
	saturated = 0.8
	// proofFor is how long a limit counts as known after a cut proved itself.
	proofFor = int64(10 * time.Minute)
)

// weight is an amount of evidence: the number of tasks, and of refused tasks.
type weight struct{ Tasks, Hits float64 }

// weight counts refusals in tasks, also if only some items of each were refused.
func (s sample) weight() weight { return weight{s.alike, s.refused() * s.alike} }

func (w weight) plus(o weight) weight     { return weight{w.Tasks + o.Tasks, w.Hits + o.Hits} }
func (w weight) times(f float64) weight   { return weight{f * w.Tasks, f * w.Hits} }
func (w weight) share() float64           { return w.Hits / max(w.Tasks, 1) }
func spread(tasks, share float64) float64 { return 2 * math.Sqrt(tasks*share*(1-share)) }

// atMost returns the upper bound of the share of refusals, chance considered.
func (w weight) atMost() float64 {
	p := (w.Hits + 1) / (w.Tasks + 1)
	return min(p+spread(1, p)/math.Sqrt(max(w.Tasks, 1)), 0.95)
}

// surely returns the lower bound of the share of refusals, chance considered.
func (w weight) surely() float64 { return w.share() - spread(1, w.share())/math.Sqrt(max(w.Tasks, 1)) }

// heavy reports whether a clearly large share of many tasks was refused, beyond a base.
func (w weight) heavy(base float64) bool { return w.Hits >= many && w.surely() >= base+large }

// lessThan reports whether clearly less was refused than of o: by more than three standard
// errors.
func (w weight) lessThan(o weight) bool { return w.less(o) > 3 }

// less returns by how many standard errors less was refused than of o.
func (w weight) less(o weight) float64 {
	p := w.plus(o).share()
	if w.Tasks == 0 || p == 0 || p == 1 {
		return 0
	}
	return (o.share() - w.share()) / math.Sqrt(p*(1-p)*(1/w.Tasks+1/max(o.Tasks, 1)))
}

// speaks returns the log likelihood ratio of the tasks for a share of refusals of one against a
// share of zero.
func (w weight) speaks(zero, one float64) float64 {
	return w.Hits*math.Log(one/zero) + (w.Tasks-w.Hits)*math.Log((1-one)/(1-zero))
}

// base returns the share of refusals that does not justify a cut, and more the share that does.
func (st RateState) base() float64 { return max(st.Base, few) }

func (st RateState) more() float64 {
	b := st.base()
	return max(b+0.02+0.25*b*(1-b), st.Expect)
}

// excess reports whether a window justifies a cut. Where a limit is known, and refusals are
// rare, little is needed; otherwise evidence has to add up.
func (st RateState) excess(now int64, x sample) bool {
	switch {
	case st.Run == 0:
		return false
	case st.Base > 0:
		return st.Evidence >= sure
	case st.known(now), st.Limited && st.rare():
		return x.refused() > few || st.Run >= 2
	}
	return st.Evidence >= enough
}

// rare reports whether refusals are uncommon, or at least uncommon right after cuts.
func (st RateState) rare() bool {
	return st.Usual.share() < few || st.After.Tasks >= provesAll && st.After.share() < few
}

// known reports whether a limit has shown clearly within the last ten minutes.
func (st RateState) known(now int64) bool { return st.Proof > 0 && now-st.Proof < proofFor }

// bounded keeps an estimate from dropping lower than the evidence allows: by a little after a
// few refused tasks, and after many by their share if the window was not saturated, because
// then it is unknown how much more would have passed. A known limit needs no such bound.
func (st RateState) bounded(now int64, x sample, est, was float64) float64 {
	switch w := st.RunTasks; {
	case st.unchanged(): // the next cut has to settle it
		return max(est, was*(1-max(shallow, st.After.share())))
	case w.Hits >= many && w.Hits < plenty && !st.known(now):
		left := 1 - (w.share()+w.surely())/2
		if x.alike >= fairly || x.weight().Hits >= many {
			left = min(left, bold)
		}
		return max(est, was*left)
	case w.Hits < many && !st.known(now):
		return max(est, was*(1-max(shallow, w.surely())))
	case w.Hits < many && x.alike < fairly: // they tell less than the rate found before
		est = max(est, min(st.Last, was*(1-shallow)))
	}
	if x.rate() < saturated*was {
		return max(est, was*(1-x.refused()))
	}
	return est
}
