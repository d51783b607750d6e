package scale

// idleText is for idle lanes: there may be a thousand of them, every second.
const idleText = "steady: nothing waits and nothing runs."

// idle decides for a lane that rests at its floor and whose state has settled: another look
// would change nothing. It allocates nothing.
func idle(now int64, s *Signals, st *State, c *Config) (Decision, bool) {
	if s.Busy > 0 || s.CPU > cutFull || s.Memory > cutFull || c.Paused || c.Override.Until > now {
		return Decision{}, false
	}
	if !stateRests(st) || len(st.Tracks) != len(s.Loads) {
		return Decision{}, false
	}
	for i := range s.Loads {
		l, t := &s.Loads[i], &st.Tracks[i]
		if l.Backlog != 0 || l.Samples != 0 || l.Arrivals != 0 || l.Resource != t.Resource || !trackRests(t) {
			return Decision{}, false
		}
	}
	if floor, _ := c.floor(now, *s); s.Workers != floor {
		return Decision{}, false
	}
	useful := usefulAtRest(s.Loads, st.Tracks)
	if b := float64(s.Bound); b > 0 && (useful == 0 || b < useful) {
		useful = b
	}
	return Decision{Workers: s.Workers, Reason: Steady, Text: idleText, Useful: useful}, true
}

// usefulAtRest returns what want would find: 0 if some resource has no rate.
func usefulAtRest(loads []Load, tracks []Track) float64 {
	useful := 0.0
	for i := range loads {
		switch l := &loads[i]; {
		case l.Closed:
		case l.Usable <= 0:
			return 0
		case tracks[i].Samples > 0:
			useful += staff(l.Usable * tracks[i].Service)
		default:
			useful += l.Usable
		}
	}
	return useful
}

// stateRests reports whether time alone would change nothing that matters: the few remembered
// tasks are too few to judge.
func stateRests(st *State) bool {
	return st.Since != 0 && st.Working == 0 && st.Above == 0 && st.Waiting == 0 && !st.Failing && st.Ended < telling
}

func trackRests(t *Track) bool {
	return t.Arrivals == 0 && t.High == 0 && t.Low == 0 && t.Doubt == 0
}
