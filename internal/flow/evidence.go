package flow

import (
	"math"
	"time"
)

const (
	// evident is how many tasks have to be refused, beyond what is borne, before a rate
	// that is not known to be limited is cut.
	evident = 3
	// many is from how many refused tasks on their share is an estimate of its own.
	many = 5
	// large is a share that is not refused by chance.
	large = 0.1
	// shallow is what fewer tasks may take away of the estimate. With the margin below
	// an estimate this is a tenth of the rate.
	shallow = 0.04
	// saturated is the part of the rate in force from which on a window shows what the
	// downstream lets through, and not what there was to send.
	saturated = 0.8
	// proofFor is how long a limit counts as known after it showed clearly.
	proofFor = int64(10 * time.Minute)
)

// weight is how much evidence there is: tasks, and how many of them were refused.
type weight struct{ tasks, hits float64 }

// weight counts refusals in tasks, also if only some items of each were refused.
func (s sample) weight() weight {
	return weight{float64(s.tasks), s.refused() * float64(s.tasks)}
}

func (w weight) plus(o weight) weight { return weight{w.tasks + o.tasks, w.hits + o.hits} }

// surely is the share of refusals that the tasks show at the least, chance considered.
func (w weight) surely() float64 {
	if w.tasks == 0 {
		return 0
	}
	p := w.hits / w.tasks
	return p - 2*math.Sqrt(p*(1-p)/w.tasks)
}

// heavy tells that a clearly large share of many tasks was refused, beyond what is borne.
func (w weight) heavy(borne float64) bool { return w.hits >= many && w.surely() >= borne+large }

// beyond tells that clearly more was refused than a share explains.
func (w weight) beyond(share float64) bool {
	as := share * w.tasks
	return w.hits > as+1+2*math.Sqrt(as)
}

// gather sums up what is refused beyond what is borne. It goes down again as
// tasks are let through, so that refusals here and there never add up.
func (st RateState) gather(x sample) RateState {
	w := x.weight()
	st.Evidence = max(0, st.Evidence+w.hits-max(st.borne(), few)*w.tasks)
	return st
}

// proven tells whether a window is a reason for a cut. Where a limit is known, and
// nothing is borne, little is needed; else refusals have to add up.
func (st RateState) proven(now int64, x sample) bool {
	switch {
	case st.Run == 0:
		return false
	case st.Borne == 0 && (st.Limited || st.known(now)):
		return x.refused() > few || st.Run >= 2
	}
	return st.Evidence >= evident
}

// known tells that a limit has shown clearly not long ago.
func (st RateState) known(now int64) bool { return st.Proof > 0 && now-st.Proof < proofFor }

// run is the evidence of all windows in a row with refusals.
func (st RateState) run() weight { return weight{st.RunTasks, st.RunHits} }

// bounded keeps an estimate from going lower than the evidence allows: by a little
// after a few refused tasks, and after many by the share that they are if the
// window was not saturated, because then nobody knows what else would have passed.
// A limit that is known needs no such care.
func (st RateState) bounded(now int64, x sample, est, was float64) float64 {
	switch w := st.run(); {
	case w.hits < many && !st.known(now):
		return max(est, was*(1-max(shallow, w.surely())))
	case x.rate() < saturated*was:
		return max(est, was*(1-x.refused()))
	}
	return est
}
