package series

import "time"

// Life follows something that begins, counts up and ends, in at most Most points: when it needs
// more, it merges pairs of them and doubles its step.
type Life struct {
	Series
	Most int
	// Until is the time of the newest sample; at first the start.
	Until time.Time
}

// NewLife returns the life of something that began at start.
func NewLife(m []Measure, start time.Time, step time.Duration, most int) *Life {
	return &Life{*New(m, start, step, 0), most, start}
}

// Sample is what was seen at a time: of counts the totals since the start, of other measures the
// values.
type Sample struct {
	// Since is the time of the sample before by the same observer; zero: it made none. From is a time
	// until which all counts stood still since then.
	Since, From time.Time
	At          time.Time
	Values      []float64
}

// Join returns one sample for two that follow each other.
func Join(a, b Sample) Sample {
	if b.Since.IsZero() || b.Since.After(a.At) {
		return Sample{At: b.At, Values: b.Values} // something was missed in between
	}
	return Sample{Since: a.Since, From: a.From, At: b.At, Values: b.Values}
}

// Add adds a sample. What was counted since the last one is divided evenly over the time in which it
// was counted, in whole numbers: the sum of all steps is then the total, and no step shows more than
// happened in its time, whatever was missed before. That time is from From to At, or, if a sample is
// missing in between, all of the time since the last one that was added. Levels are those of the step
// of At, and of the steps before it if nothing was missed; otherwise they are unknown there.
func (l *Life) Add(s Sample) {
	watched := !s.Since.IsZero() && !s.Since.After(l.Until)
	from := l.Until
	if watched && s.From.After(from) {
		from = s.From
	}
	at := l.stepOf(s.At)
	for at >= l.Most {
		l.halve()
		at /= 2
	}
	before := l.Len()
	l.Extend(at + 1)
	counted := l.deltas(s.Values)
	l.rest(before, at, watched)
	l.spread(from, s.At, counted)
	l.Series.Add(at, counted)
	if s.At.After(l.Until) {
		l.Until = s.At
	}
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

// spread adds counts to the steps between two times, except the part of the last step, which it
// leaves in counted.
func (l *Life) spread(from, to time.Time, counted []float64) {
	parts := l.Parts(from, to)
	for c, m := range l.Measures {
		if m.Rule != Count || !Known(counted[c]) {
			continue
		}
		n := counted[c]
		for i, p := range parts {
			if counted[c] = p.Of(n); i < len(parts)-1 {
				l.Columns[c][p.Step] = overTime(Count, l.Columns[c][p.Step], counted[c])
			}
		}
	}
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
