package sim

import "github.com/weirhq/weir"

// meter watches one resource as one node uses it.
type meter struct {
	limits   weir.Resource
	before   weir.Rate // the highest rate until the last change
	changed  int64     // when that was
	inFlight int
	starts   []start // in the last second
	used     int
}

type start struct {
	at   int64
	cost int
}

// meter finds the meter of a resource.
func (n *node) meter(r weir.Resource) *meter {
	m := n.meters[r.Name]
	if m == nil {
		m = &meter{limits: n.w.limitsOf(r)}
		n.meters[r.Name] = m
	}
	return m
}

// take counts a start and reports how much started within the second that ends now.
func (m *meter) take(now int64, cost int) int {
	if m.limits.Rate == 0 {
		return 0
	}
	for len(m.starts) > 0 && m.starts[0].at <= now-second {
		m.used -= m.starts[0].cost
		m.starts = m.starts[1:]
	}
	m.starts = append(m.starts, start{now, cost})
	m.used += cost
	return m.used
}

// change notes other limits.
func (m *meter) change(now int64, r weir.Resource) {
	m.before = m.most(now)
	m.limits, m.changed = r, now
}

// most is the highest rate of the second that ends now.
func (m *meter) most(now int64) weir.Rate {
	if m.changed > now-second {
		return max(m.before, m.limits.Rate)
	}
	return m.limits.Rate
}

func (w *World) resourceNames() []string { return []string{"r0", "r1", "r2"} }
