package virtual

import (
	"cmp"
	"slices"
)

// Meter finds the most that started within any span of one length. Times come in order.
type Meter struct {
	Window int64 // length of the span
	Total  int64 // of all that started
	Most   int64 // within one span

	starts []start // of the last span, from index old on
	old    int
	within int64
}

// start is an amount that began at a time.
type start struct{ at, amount int64 }

// Add counts a start, and returns how much started within the span that ends with it.
func (m *Meter) Add(at, amount int64) (within int64) {
	m.Total += amount
	m.within += amount
	m.starts = append(m.starts, start{at, amount})
	m.Most = max(m.Most, m.Within(at))
	return m.within
}

// Within returns how much started within the span that ends at a time.
func (m *Meter) Within(at int64) int64 {
	for m.old < len(m.starts) && m.starts[m.old].at <= at-m.Window {
		m.within -= m.starts[m.old].amount
		m.old++
	}
	if m.old > 1024 && 2*m.old > len(m.starts) {
		m.starts = m.starts[:copy(m.starts, m.starts[m.old:])]
		m.old = 0
	}
	return m.within
}

// Jain returns how even the values are: 1 if all are equal, 1/n if one has everything, and
// 1 if there is nothing to share.
func Jain(xs []float64) float64 {
	var sum, squares float64
	for _, x := range xs {
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (squares * float64(len(xs)))
}

// Quantile returns what a share q of xs stays below, 0 of none.
func Quantile[T cmp.Ordered](xs []T, q float64) (at T) {
	if len(xs) == 0 {
		return at
	}
	s := slices.Sorted(slices.Values(xs))
	return s[min(int(q*float64(len(s))), len(s)-1)]
}
