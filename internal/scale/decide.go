package scale

import (
	"math"
	"time"
)

const (
	mostBusy   = 0.9              // workers beyond this use of the usable rate only wait
	growAbove  = 1.10             // deadband, upwards
	moreAbove  = 1.05             // the same soon after growth, which may have landed short
	dropBelow  = 0.85             // deadband, downwards
	confirm    = 2                // cycles in a row that have to want growth
	correct    = 15 * time.Second // how soon is soon after growth
	halfLife   = 20 * time.Second
	vetoFull   = 0.85 // CPU or memory at which nothing grows
	cutFull    = 0.95 // CPU or memory at which workers are taken away
	vetoErrors = 0.05 // failed share at which nothing grows, if load is the cause
	cutErrors  = 0.20 // failed share at which nothing grows in any case, and workers go
	calmErrors = 0.15 // failed share at which growth is allowed again
	stalled    = 0.20 // of the tasks expected to end; fewer means that they hang
)

// wanted is what one cycle's signals come to.
type wanted struct {
	need, useful float64 // in workers; useful may be infinite
	desired      float64 // within the bounds
	why          Reason  // of growing to desired
	floor        int
	floorWhy     Reason
}

// Decide is the default policy. It answers from its arguments alone: same
// arguments, same decision. Call it once per second and lane, and hand the State
// that it returns to the next call.
func Decide(now int64, s Signals, st State, c Config) (Decision, State) {
	c = c.withDefaults()
	st = st.see(now, s)
	st.Waiting = streak(st.Waiting, s.SlotWait > c.SlotWait && s.Busy > 0.9)
	w := want(now, s, st, c)
	band := growAbove
	if now-st.RaisedAt < int64(correct) {
		band = moreAbove
	}
	st.Above = streak(st.Above, w.desired > band*float64(s.Workers))
	st, most := st.wish(now, c.Window, w.desired)

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

// want applies Little's law to what can be used, and the floors and bounds to that.
func want(now int64, s Signals, st State, c Config) wanted {
	w := wanted{why: Grew}
	for i, t := range st.Tracks {
		l := s.Loads[i]
		usable := l.Usable
		switch {
		case l.Closed:
			continue
		case usable <= 0:
			usable = math.Inf(1)
		}
		rate := min(t.Arrivals+float64(l.Backlog)/c.Drain.Seconds(), usable)
		w.need += rate * t.Service / c.Target
		if t.Samples > 0 {
			usable *= t.Service / mostBusy
		}
		w.useful += usable
	}
	n := float64(s.Workers)
	w.desired = min(w.need, w.useful)
	switch {
	case st.cold():
		w.desired = max(w.desired, coldWish(s))
		w.why = Cold
	case st.Waiting >= 3 && now-st.RaisedAt > int64(10*time.Second) && min(1.25*n, w.useful) > w.desired:
		w.desired, w.why = min(1.25*n, w.useful), Trimmed
	}
	w.floor, w.floorWhy = c.Min, AtMin
	if r := c.reserved(now); r > w.floor {
		w.floor, w.floorWhy = r, AtReserve
	}
	if s.Floor > w.floor {
		w.floor, w.floorWhy = s.Floor, AtFloor
	}
	w.floor = min(w.floor, c.Max)
	w.desired = min(max(w.desired, float64(w.floor)), float64(c.Max))
	return w
}

// coldWish goes by the queue alone: no task has ended, so the law has no run time.
func coldWish(s Signals) float64 {
	open := false
	for _, l := range s.Loads {
		open = open || !l.Closed
	}
	switch {
	case open && s.depth() > 4:
		return 2 * float64(s.Workers)
	case s.Busy > 0.5: // they are at work, on something long
		return float64(s.Workers)
	}
	return 0
}

// cut takes a tenth away when going on as before does harm. What a cut brought
// shows only once running tasks have ended, so there is a pause between two.
func cut(now int64, s Signals, st State, c Config) (Decision, bool) {
	n := s.Workers
	m := max(min(int(0.9*float64(n)), n-1), c.Min)
	var (
		why   Reason
		share float64
		what  string
	)
	switch e := st.errors(); {
	case s.CPU > cutFull:
		why, share, what = CutCPU, s.CPU, "CPU in use"
	case s.Memory > cutFull:
		why, share, what = CutMemory, s.Memory, "memory in use"
	case e > cutErrors:
		why, share, what = CutErrors, e, "of recent tasks failed"
	default:
		return Decision{}, false
	}
	if m == n || now-st.LoweredAt < int64(step) {
		return decided(n, why, "held at %d: %.0f %% %s.", n, 100*share, what), true
	}
	return decided(m, why, "cut from %d to %d: %.0f %% %s.", n, m, 100*share, what), true
}

// grow answers if more workers are wanted.
func grow(s Signals, st State, c Config, w wanted) (Decision, bool) {
	n := s.Workers
	below := n < w.floor
	if !below && st.Above == 0 {
		return Decision{}, false
	}
	if d, vetoed := veto(s, st, w); vetoed {
		return d, true
	}
	m := int(math.Ceil(min(w.desired, float64(max(4*n, n+8)))))
	switch {
	case below && (m <= w.floor || st.Above < confirm):
		return decided(w.floor, w.floorWhy, "raised from %d to %d, which the %s floor asks for.", n, w.floor, w.floorWhy), true
	case st.Above < confirm:
		return decided(n, Confirming, "held at %d for now: %.1f wanted, to be confirmed.", n, w.desired), true
	case w.why == Cold:
		return decided(m, Cold, "grew from %d to %d: %.1f tasks wait per worker and no run time is known yet.", n, m, s.depth()), true
	case w.why == Trimmed:
		return decided(m, Trimmed, "grew from %d to %d: tasks wait %v for workers that are %.0f %% busy.", n, m, s.SlotWait.Round(time.Millisecond), 100*s.Busy), true
	}
	return decided(m, Grew, "grew from %d to %d: %s, %d tasks wait.", n, m, w.words(c), s.backlog()), true
}

// words tells where the wish comes from.
func (w wanted) words(c Config) string {
	text := "the load needs " + number(w.need)
	if w.useful < w.need {
		text += ", the usable rate allows " + number(w.useful)
	}
	if w.need > float64(c.Max) {
		text += ", the maximum is " + number(float64(c.Max))
	}
	return text
}

// veto answers if something forbids growth. Failures that load did not cause are
// no reason to let a backlog grow, so few of them count only under strain; see
// [State.seeFailures].
func veto(s Signals, st State, w wanted) (Decision, bool) {
	n := s.Workers
	switch {
	case s.CPU > vetoFull:
		return decided(n, VetoCPU, "held at %d: %.1f wanted, but CPU is %.0f %% in use.", n, w.desired, 100*s.CPU), true
	case s.Memory > vetoFull:
		return decided(n, VetoMemory, "held at %d: %.1f wanted, but memory is %.0f %% in use.", n, w.desired, 100*s.Memory), true
	case st.Failing:
		return decided(n, VetoErrors, "held at %d: %.1f wanted, but %.0f %% of recent tasks failed.", n, w.desired, 100*st.errors()), true
	}
	for _, t := range st.Tracks {
		if t.Doubt > 0 {
			return decided(n, VetoSlow, "held at %d: %.1f wanted, but tasks of %s suddenly take %.2f s; seeing first whether they fail.", n, w.desired, t.Resource, t.Service), true
		}
	}
	if ended, expected := stall(s, st); expected >= coldBelow && float64(ended) < stalled*expected {
		return decided(n, VetoStall, "held at %d: %.1f wanted, but %d tasks ended where %.0f were due.", n, w.desired, ended, expected), true
	}
	return Decision{}, false
}

// stall compares the tasks that ended with those that busy workers should have
// ended in a second. Where tasks hang, more workers only hang more of them; once
// slow tasks do end, the run time follows and the two agree again.
func stall(s Signals, st State) (ended int, expected float64) {
	ended, _ = s.samples()
	rate, busy := 0.0, 0.0 // by Little's law, rate/busy is what one busy worker ends
	for _, t := range st.Tracks {
		rate, busy = rate+t.Arrivals, busy+t.Arrivals*t.Service
	}
	if busy == 0 {
		return ended, 0
	}
	return ended, s.Busy * float64(s.Workers) * rate / busy
}

// release lets workers go that the whole window did not need, or holds.
func release(now int64, s Signals, st State, c Config, w wanted, most float64) Decision {
	n := s.Workers
	cooldown := time.Duration(float64(c.Cooldown) * st.patience(now))
	switch limit := dropBelow * float64(n); {
	case w.desired >= limit && n == c.Max && w.need > float64(n):
		return decided(n, AtMax, "held at %d, the maximum: the load needs %.1f.", n, w.need)
	case w.desired >= limit:
		return decided(n, Steady, "steady at %d: %.1f wanted.", n, w.desired)
	case most >= limit || math.Ceil(most) >= float64(n) || now-st.Since < int64(c.Window):
		return decided(n, Watching, "held at %d: %.1f wanted, but up to %.1f during the last %v.", n, w.desired, most, c.Window)
	case now-st.RaisedAt < int64(cooldown):
		return decided(n, Cooling, "held at %d: %.1f wanted, next release in %v.", n, w.desired, span(st.RaisedAt+int64(cooldown)-now))
	case now-st.LoweredAt < int64(step):
		return decided(n, Cooling, "held at %d: %.1f wanted, next release in %v.", n, w.desired, span(st.LoweredAt+int64(step)-now))
	}
	decay := math.Pow(0.5, step.Seconds()/halfLife.Seconds())
	m := min(int(math.Ceil(max(most, float64(n)*decay))), n-1)
	return decided(m, Released, "released from %d to %d: at most %.1f were wanted during the last %v.", n, m, most, c.Window)
}
