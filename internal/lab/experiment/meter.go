package experiment

// meter watches what starts on one resource: how much in all, and how much in the
// fullest second. It keeps one second of starts.
type meter struct {
	rate   float64
	from   int64
	total  int64
	recent []start // of the last second, in order of time, from index old on
	old    int
	within int64
	most   int64
	over   int64 // cost that a downstream with this rate in any second would have refused
}

// start is cost that began at a time.
type start struct{ at, cost int64 }

func newMeter(rate float64, from int64) *meter { return &meter{rate: rate, from: from} }

// count notes a start. Times come in order.
func (m *meter) count(at, cost int64) {
	m.total += cost
	if m.rate == 0 {
		return
	}
	m.recent = append(m.recent, start{at, cost})
	m.within += cost
	for m.recent[m.old].at <= at-sec {
		m.within -= m.recent[m.old].cost
		m.old++
	}
	if m.old > len(m.recent)/2 {
		m.recent = m.recent[:copy(m.recent, m.recent[m.old:])]
		m.old = 0
	}
	m.most = max(m.most, m.within)
	m.over += max(0, min(cost, m.within-int64(m.rate)))
}

// peak is the fullest second in terms of the rate, 0 if there is none.
func (m *meter) peak() float64 {
	if m.rate == 0 {
		return 0
	}
	return float64(m.most) / m.rate
}

// use is the part of the rate that was used from the beginning until now.
func (m *meter) use(now int64) float64 {
	return float64(m.total) / (m.rate * float64(now-m.from) / 1e9)
}

// jain is how even the values are: 1 if all are equal, 1/n if one has everything.
func jain(xs []float64) float64 {
	var sum, squares float64
	for _, x := range xs {
		sum += x
		squares += x * x
	}
	return sum * sum / (squares * float64(len(xs)))
}
