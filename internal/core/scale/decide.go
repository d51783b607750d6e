package scale

import (
	"math"
	"time"
)

const (
	growAbove  = 1.10             // deadband, upwards
	moreAbove  = 1.05             // the same soon after growth, which may have landed short
	dropBelow  = 0.85             // deadband, downwards
	landing    = 1.05             // of the highest wish: a release to exactly that would soon be reversed
	deep       = 4.0              // tasks waiting per worker that justify growth by themselves
	confirm    = 2                // cycles in a row that have to want growth
	correct    = 15 * time.Second // time during which moreAbove applies
	halfLife   = 20 * time.Second
	newLeader  = 5 * time.Second // time for which a new leader keeps what it finds
	recovery   = time.Minute     // after failures, during which a backlog is drained calmly
	vetoFull   = 0.85            // CPU or memory at which nothing grows
	cutFull    = 0.95            // CPU or memory at which workers are taken away
	vetoErrors = 0.05            // failed share at which nothing grows, if load is the cause
	cutErrors  = 0.20            // failed share at which nothing grows in any case, and workers go
	calmErrors = 0.15            // failed share at which growth is allowed again
	stalled    = 0.20            // of the tasks expected to end; fewer means that they hang
	room       = 8.0             // roots of the busy workers that a small pool keeps idle, per idle share
	inStream   = 10.0            // seconds of arrivals that a backlog of late workers may hold
	bulkShare  = 1. / 6          // of Drain, for what is beyond that
)

// Decide is the default policy. It answers from its arguments alone: same arguments, same
// decision. Call it once per second and lane, and pass the State that it returns to the next
// call.
func Decide(now int64, s Signals, st State, c Config) (Decision, State) {
	c = c.withDefaults()
	if d, ok := idle(now, &s, &st, &c); ok {
		return d, st
	}
	st = st.see(now, s, c.Min)
	st.Waiting = streak(st.Waiting, s.SlotWait > slotWait && s.Busy > 0.9)
	w := want(now, s, st, c)
	band := growAbove
	if now-st.RaisedAt < int64(correct) {
		band = moreAbove
	}
	st.Above = streak(st.Above, w.desired > band*float64(s.Workers))
	if st.Above > 0 && s.depth() > deep && w.why != Trimmed && !st.learning(now) {
		st.Above = max(st.Above, confirm) // such a queue is not a chance event
	}
	st, most := st.wish(now, window, w.desired)

	d, ok := byHand(now, s, c)
	if !ok {
		d, ok = cut(now, s, st, c)
	}
	if !ok {
		d, ok = grow(s, st, c, w)
	}
	if !ok {
		d = release(now, s, st, c, w, most)
	}
	d.Need = w.need
	if !math.IsInf(w.useful, 1) {
		d.Useful = w.useful
	}
	return d, st.acted(now, s.Workers, d.Workers)
}

// step returns how many workers n may become at once: four times as many, or twice on a new
// resource.
func (st State) step(n int) int {
	for _, t := range st.Tracks {
		if t.Doubt > 0 && t.Fresh {
			return 2 * n
		}
	}
	return max(4*n, n+8)
}

// grow returns a decision if more workers are wanted.
func grow(s Signals, st State, c Config, w wanted) (Decision, bool) {
	n := s.Workers
	below := n < w.floor
	if !below && st.Above == 0 {
		return Decision{}, false
	}
	d, vetoed := veto(s, st, w)
	if vetoed {
		return d, true
	}
	m := int(math.Ceil(min(w.desired, float64(st.step(n)))))
	d, vetoed = doubt(s, st, w)
	switch {
	case below && (vetoed || m <= w.floor || st.Above < confirm):
		return decided(w.floor, w.floorWhy, "raised from %d to %d, which the %s floor asks for.", n, w.floor, w.floorWhy), true
	case vetoed:
		return d, true
	case st.Above < confirm:
		return decided(n, Confirming, "held at %d for now: %.1f wanted, to be confirmed.", n, w.desired), true
	case w.why == Cold:
		return decided(m, Cold, "grew from %d to %d: %.1f tasks wait per worker and no run time is known yet.", n, m, s.depth()), true
	case w.why == Trimmed:
		return decided(m, Trimmed, "grew from %d to %d: tasks wait %v for workers that are %.0f %% busy.", n, m,
			s.SlotWait.Round(time.Millisecond), 100*s.Busy), true
	}
	return decided(m, Grew, "grew from %d to %d: %s, %d tasks wait.", n, m, w.words(c), s.backlog()), true
}

// release removes workers that the whole window did not need, or holds.
func release(now int64, s Signals, st State, c Config, w wanted, most float64) Decision {
	n := s.Workers
	rest := time.Duration(float64(cooldown) * st.patience(now))
	switch limit := dropBelow * float64(n); {
	case w.desired >= limit && n == c.Max && w.need > float64(n):
		return decided(n, AtMax, "held at %d, the maximum: the load needs %.1f.", n, w.need)
	case w.desired >= limit:
		return Decision{Workers: n, Reason: Steady, Text: steadyText(n, w.desired)}
	case most >= limit || math.Ceil(most) >= float64(n) || now-st.Since < int64(window):
		return decided(n, Watching, "held at %d: %.1f wanted, but up to %.1f during the last %s.", n, w.desired, most, span(window))
	case now-st.RaisedAt < int64(rest):
		return decided(n, Cooling, "held at %d: %.1f wanted, next release in %s.", n, w.desired, span(st.RaisedAt+int64(rest)-now))
	case now-st.LoweredAt < int64(step):
		return decided(n, Cooling, "held at %d: %.1f wanted, next release in %s.", n, w.desired, span(st.LoweredAt+int64(step)-now))
	}
	decay := math.Pow(0.5, step.Seconds()/halfLife.Seconds())
	enough := max(math.Ceil(most), math.Round(landing*most))
	m := min(int(math.Ceil(max(enough, float64(n)*decay))), n-1)
	return decided(m, Released, "released from %d to %d: at most %.1f were wanted during the last %s.", n, m, most, span(window))
}
