package sim

import (
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// meter watches one resource as one node uses it.
type meter struct {
	limits   weir.Resource
	before   weir.Rate // the highest rate until the last change
	changed  int64     // when that was
	inFlight int
	starts   virtual.Meter
}

// meter finds the meter of a resource.
func (n *node) meter(r weir.Resource) *meter {
	m := n.meters[r.Name]
	if m == nil {
		m = &meter{limits: n.w.limitsOf(r), starts: virtual.Meter{Window: second}}
		n.meters[r.Name] = m
	}
	return m
}

// take counts a start and reports how much started within the second that ends now.
func (m *meter) take(now int64, cost int) int {
	if m.limits.Rate == 0 {
		return 0
	}
	return int(m.starts.Add(now, int64(cost)))
}

// change notes other limits.
func (m *meter) change(now int64, r weir.Resource) {
	m.before = m.most(now)
	m.limits, m.changed = r, now
}

// most returns the highest rate of the second that ends now.
func (m *meter) most(now int64) weir.Rate {
	if m.changed > now-second {
		return max(m.before, m.limits.Rate)
	}
	return m.limits.Rate
}

func (w *World) resourceNames() []string { return []string{"r0", "r1", "r2"} }
