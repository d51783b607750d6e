package series

import "time"

// Life follows something that begins, counts up and ends, in at most Most points: when it needs
// more, it merges pairs of them and doubles its step.
type Life struct {
	Series
	Most int
}

// NewLife returns the life of something that began at start.
func NewLife(m []Measure, start time.Time, step time.Duration, most int) *Life {
	return &Life{*New(m, start, step, 0), most}
}

// Sample is what was seen at a time: of counts the totals since the start, of other measures the
// values.
type Sample struct {
	// From is the time of the sample before if nothing was missed since: all counts stood still
	// until the step of At. Without one, From is At.
	From, At time.Time
	Values   []float64
}

// Join returns one sample for two that follow each other.
func Join(a, b Sample) Sample {
	if b.From.After(a.At) {
		return b // something was missed in between
	}
	return Sample{From: a.From, At: b.At, Values: b.Values}
}

// Add adds a sample. What was counted since the last one belongs to the step of At; the sum of all
// steps is then the total, whatever was missed before. Steps in between are 0 if nothing was
// counted, or if it is known that nothing was missed; otherwise they are unknown.
func (l *Life) Add(s Sample) {
	at := l.stepOf(s.At)
	for at >= l.Most {
		l.halve()
		at /= 2
	}
	before := l.Len()
	l.Extend(at + 1)
	counted := l.deltas(s.Values)
	still := true
	for c, m := range l.Measures {
		still = still && (m.Rule != Count || !(counted[c] > 0))
	}
	watched := s.From.Before(s.At)
	switch {
	case still:
		l.rest(before, at, watched)
	case watched:
		l.rest(max(before, l.stepOf(s.From)+1), at, true)
	}
	l.Series.Add(at, counted)
}

// stepOf returns the step that a time belongs to. The last moment of a step is part of it.
func (l *Life) stepOf(t time.Time) int { return max(l.Index(t.Add(-1)), 0) }

// deltas returns values with what was counted since the last sample in place of totals.
func (l *Life) deltas(values []float64) []float64 {
	out := make([]float64, len(values))
	for c, m := range l.Measures {
		out[c] = values[c]
		if m.Rule == Count && Known(values[c]) {
			out[c] = max(values[c]-l.Sum(c), 0)
		}
	}
	return out
}

// rest marks the steps from first to before end as ones in which nothing was counted. If nothing
// was missed, everything else is what it was before.
func (l *Life) rest(first, end int, carry bool) {
	for c, m := range l.Measures {
		v := Unknown()
		switch {
		case m.Rule == Count:
			v = 0
		case carry && first > 0:
			v = l.Columns[c][first-1]
		}
		for i := first; i < end; i++ {
			l.Columns[c][i] = v
		}
	}
}

// halve merges pairs of steps.
func (l *Life) halve() {
	for c, m := range l.Measures {
		col := l.Columns[c]
		n := (len(col) + 1) / 2
		for i := range n {
			col[i] = combine(m.Rule, col[2*i:min(2*i+2, len(col))])
		}
		l.Columns[c] = col[:n]
	}
	l.Step *= 2
}
