package experiment

import "github.com/weirhq/weir/internal/lab/virtual"

// meter watches what starts on one resource: how much in all, and how much in the
// fullest second.
type meter struct {
	virtual.Meter
	rate float64
	from int64
	over int64 // cost that a downstream with this rate in any second would have refused
}

func newMeter(rate float64, from int64) *meter {
	return &meter{Meter: virtual.Meter{Window: sec}, rate: rate, from: from}
}

// count notes a start. Times come in order.
func (m *meter) count(at, cost int64) {
	if m.rate == 0 {
		m.Total += cost
		return
	}
	m.over += max(0, min(cost, m.Add(at, cost)-int64(m.rate)))
}

// peak is the fullest second in terms of the rate, 0 if there is none.
func (m *meter) peak() float64 {
	if m.rate == 0 {
		return 0
	}
	return float64(m.Most) / m.rate
}

// use is the part of the rate that was used from the beginning until now.
func (m *meter) use(now int64) float64 {
	return float64(m.Total) / (m.rate * float64(now-m.from) / 1e9)
}
