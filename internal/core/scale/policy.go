package scale

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Policy decides once per cycle from the signals, its memory and the operator's settings. Every
// policy obeys override, pause, Min and Max.
type Policy func(now int64, s Signals, st State, c Config) (Decision, State)

// Default is the name of the policy that lanes use unless configured otherwise.
const Default = "littles-law"

// named lists the policies in the order of [Names].
func named() []struct {
	name   string
	policy Policy
} {
	return []struct {
		name   string
		policy Policy
	}{
		{Default, Decide},
		{"congestion-control", framed(congestion)},
		{"depth", framed(depth)},
		{"multi-signal", framed(multiSignal)},
		{"utilisation", framed(utilisation)},
		{"wait-time", framed(waitTime)},
	}
}

// Names lists the known policies, the default first.
func Names() []string {
	var names []string
	for _, p := range named() {
		names = append(names, p.name)
	}
	return names
}

// ByName returns the policy of that name. An empty name stands for the default.
func ByName(name string) (Policy, error) {
	if name == "" {
		return Decide, nil
	}
	all := named()
	i := slices.IndexFunc(all, func(p struct {
		name   string
		policy Policy
	},
	) bool {
		return p.name == name
	})
	if i < 0 {
		return nil, fmt.Errorf("policy %q is not known: give one of %s", name, strings.Join(Names(), ", "))
	}
	return all[i].policy, nil
}

// rule is the core of a simple policy: the workers it wants now, and why.
type rule func(now int64, s Signals, st State, c Config) (Decision, State)

// framed adds to a rule what all policies share: smoothed signals, the operator's rules before
// it and the bounds after it.
func framed(r rule) Policy {
	return func(now int64, s Signals, st State, c Config) (Decision, State) {
		c = c.withDefaults()
		st = st.see(now, s, c.Min)
		d, ok := byHand(now, s, c)
		if !ok {
			d, st = r(now, s, st, c)
			d = bounded(now, s, c, d)
		}
		return d, st.acted(now, s.Workers, d.Workers)
	}
}

// bounded brings a decision within floors and ceiling.
func bounded(now int64, s Signals, c Config, d Decision) Decision {
	floor, _ := c.floor(now, s)
	most := s.most(c.Max)
	switch m := min(max(d.Workers, floor), most); {
	case m == d.Workers:
		return d
	case m == s.Workers:
		return decided(m, Steady, "held at %d: the rule wants %d, the bounds are %d and %d.", m, d.Workers, floor, most)
	default:
		d.Text = fmt.Sprintf("%s The bounds %d and %d make it %d.", d.Text, floor, most, m)
		d.Workers = m
		return d
	}
}

// pressed counts cycles in a row that were above or below a rule's mark and returns the
// decision: after some hot cycles a factor of up, after some calm ones a factor of down.
func pressed(s Signals, st State, hot, calm bool, up, down float64, what string) (Decision, State) {
	const hotCycles, calmCycles = 3, 30
	st.Waiting, st.Calm = streak(st.Waiting, hot), streak(st.Calm, calm)
	n := s.Workers
	switch {
	case st.Waiting >= hotCycles:
		m := int(math.Ceil(float64(n) * up))
		st.Waiting, st.Calm = 0, 0
		return decided(m, Grew, "grew from %d to %d: %s for %d cycles.", n, m, what, hotCycles), st
	case st.Calm >= calmCycles && n > 1:
		m := int(float64(n) * down)
		st.Calm = 0
		return decided(m, Released, "released from %d to %d: %s after %d calm cycles.", n, m, what, calmCycles), st
	}
	return decided(n, Steady, "steady at %d: %s.", n, what), st
}

// depth doubles when more than two tasks wait per worker and halves after calm.
func depth(_ int64, s Signals, st State, _ Config) (Decision, State) {
	deep := s.depth() > 2
	return pressed(s, st, deep, !deep, 2, 0.5, fmt.Sprintf("%.1f tasks wait per worker", s.depth()))
}

// waitTime grows by half when tasks wait too long for a worker.
func waitTime(_ int64, s Signals, st State, c Config) (Decision, State) {
	return pressed(s, st, s.SlotWait > slotWait, s.SlotWait < slotWait/4, 1.5, 0.8,
		fmt.Sprintf("the slot wait is %v", s.SlotWait.Round(time.Millisecond)))
}

// multiSignal grows when two of depth, wait and use are high and nothing forbids
// it, and shrinks when all three are low.
func multiSignal(_ int64, s Signals, st State, c Config) (Decision, State) {
	high, low := 0, 0
	for _, x := range []struct{ is, high, low float64 }{
		{s.depth(), 2, 0.5},
		{s.SlotWait.Seconds(), slotWait.Seconds(), slotWait.Seconds() / 4},
		{s.Busy, 0.85, 0.6},
	} {
		switch {
		case x.is > x.high:
			high++
		case x.is < x.low:
			low++
		}
	}
	w := wanted{desired: 1.5 * float64(s.Workers)}
	d, vetoed := veto(s, st, w)
	if !vetoed {
		d, vetoed = doubt(s, st, w)
	}
	if vetoed && high >= 2 {
		st.Waiting, st.Calm = 0, 0
		return d, st
	}
	return pressed(s, st, high >= 2, low == 3, 1.5, 0.8, fmt.Sprintf("%d of 3 signals are high, %d low", high, low))
}

// utilisation keeps workers seven tenths busy, with a tenth of tolerance; release
// goes by the highest wish of the window.
func utilisation(now int64, s Signals, st State, c Config) (Decision, State) {
	const goal, tolerance = 0.7, 0.1
	n := s.Workers
	desired := float64(n) * s.Busy / goal
	st, most := st.wish(now, window, desired)
	m := int(math.Ceil(desired))
	switch low := int(math.Ceil(most)); {
	case s.Busy > goal*(1+tolerance) && m > n:
		return decided(m, Grew, "grew from %d to %d: workers are %.0f %% busy.", n, m, 100*s.Busy), st
	case most < float64(n)*(1-tolerance) && low < n && now-st.Since >= int64(window):
		return decided(low, Released, "released from %d to %d: workers are %.0f %% busy.", n, low, 100*s.Busy), st
	}
	return decided(n, Steady, "steady at %d: workers are %.0f %% busy.", n, 100*s.Busy), st
}

// congestion treats workers as a window on the resource: it opens by the root of
// its size while tasks wait, and closes as run times rise over the best known, or
// by a tenth on failures.
func congestion(now int64, s Signals, st State, _ Config) (Decision, State) {
	n, size, recent := s.Workers, float64(s.Workers), s.service()
	if recent > 0 {
		if st.Base == 0 || recent < st.Base {
			st.Base = recent
		}
		st.Base *= 1.0005 // forget slowly: the best time of last night does not hold for ever
	}
	if e := st.errors(); e > vetoErrors && now-st.LoweredAt >= int64(step) {
		m := max(int(0.9*size), 1)
		return decided(m, Backpressed, "gave way from %d to %d: %.0f %% of recent tasks failed.", n, m, 100*e), st
	}
	slower := 1.0
	if recent > 0 {
		slower = min(max(1.5*st.Base/recent, 0.5), 1)
	}
	switch m := int(size * slower); {
	case slower < 0.9 && m < n && now-st.LoweredAt >= int64(step):
		return decided(m, Backpressed, "gave way from %d to %d: tasks take %.2f s, %.2f s at best.", n, m, recent, st.Base), st
	case slower >= 0.9 && s.backlog() > n && s.Busy > 0.9:
		m = n + int(math.Ceil(math.Sqrt(size)))
		return decided(m, Grew, "grew from %d to %d: %d tasks wait and run times are good.", n, m, s.backlog()), st
	}
	st.Calm = streak(st.Calm, s.Busy < 0.5)
	if st.Calm >= 30 {
		st.Calm = 0
		m := int(0.8 * size)
		return decided(m, Released, "released from %d to %d: workers are %.0f %% busy.", n, m, 100*s.Busy), st
	}
	return decided(n, Steady, "steady at %d: tasks take %.2f s, %.2f s at best.", n, recent, st.Base), st
}
