package sim

import "github.com/weirhq/weir"

// meter watches one resource as one node, or one owner, uses it.
type meter struct {
	limits   weir.Resource
	inFlight int
	starts   []start // in the last second
	used     int
}

type start struct {
	at   int64
	cost int
}

// meter finds the meter of a resource: of the node if its partitions share
// limits, else of the owner.
func (o *owner) meter(r weir.Resource) *meter {
	of := o.meters
	if o.w.plan.shared {
		of = o.node.meters
	}
	m := of[r.Name]
	if m == nil {
		m = &meter{limits: r}
		of[r.Name] = m
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

func (w *World) resourceNames() []string { return []string{"r0", "r1", "r2"} }
