package scale

// cut removes a tenth of the workers when going on as before does harm. The effect of a cut
// shows only once running tasks have ended, so there is a pause between two.
func cut(now int64, s Signals, st State, c Config) (Decision, bool) {
	n := s.Workers
	m := max(min(int(0.9*float64(n)), n-1), min(s.most(c.Min), n))
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

// veto returns a decision if something forbids growth. Failures that load did not cause do not
// justify a growing backlog, so a small share of failures counts only under strain; see
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
	return Decision{}, false
}

// doubt returns a decision if growth has to wait until more is known. Growth to a floor need
// not wait: the floor comes from earlier knowledge.
func doubt(s Signals, st State, w wanted) (Decision, bool) {
	n := s.Workers
	if ended, expected, hang := stall(s, st); hang {
		return decided(n, VetoStall, "held at %d: %.1f wanted, but %d tasks ended where %.0f were due.", n, w.desired,
			ended, expected), true
	}
	for _, t := range st.Tracks {
		if t.unproven() && (w.why != Cold || t.Evidence > 0) {
			return decided(n, VetoSlow,
				"held at %d: %.1f wanted, but the tasks of %s, %.2f s each, have yet to show that they do not fail.", n,
				w.desired, t.Resource, t.Service), true
		}
	}
	return Decision{}, false
}

// stall compares the tasks that ended with those that busy workers should have ended in a
// second, and reports that they hang if far too few did. Where tasks hang, more workers only
// hang more of them; once slow tasks do end, the run time follows and the two agree again.
// Tasks that all started a moment ago do not hang.
func stall(s Signals, st State) (ended int, expected float64, hang bool) {
	ended, _ = s.samples()
	rate, busy := 0.0, 0.0 // by Little's law, rate/busy is what one busy worker ends
	for _, t := range st.Tracks {
		rate, busy = rate+t.Arrivals, busy+t.Arrivals*t.Service
	}
	if busy == 0 {
		return ended, 0, false
	}
	expected = s.Busy * float64(s.Workers) * rate / busy
	begun := float64(st.Working) < 1+2*busy/rate
	return ended, expected, !begun && expected >= coldBelow && float64(ended) < stalled*expected
}
