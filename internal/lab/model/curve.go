package model

const (
	// mostPoints is how many points a curve has at most: when there are more, two become one.
	mostPoints = 200
	// mostCurved is how many tenants a curve tells apart.
	mostCurved = 20
)

// Curve is how many items of each tenant were sent downstream, over time.
type Curve struct {
	// Every is the time between two points; the first tells of what was before it.
	Every Span
	// Tenants are those that came first, at most 20. Each point has one entry more
	// than they are: all other tenants.
	Tenants []string
	Points  [][]int64
}

// add notes items that a tenant, by its number, was served at a time.
func (c *Curve) add(at int64, tenant, items int) {
	if c.Every == 0 {
		c.Every = Span(second)
	}
	for at/int64(c.Every) >= mostPoints {
		c.halve()
	}
	for int64(len(c.Points)) <= at/int64(c.Every) {
		c.Points = append(c.Points, make([]int64, mostCurved+1))
	}
	c.Points[at/int64(c.Every)][min(tenant, mostCurved)] += int64(items)
}

// halve makes one point of each two.
func (c *Curve) halve() {
	c.Every *= 2
	for i, p := range c.Points {
		if i%2 == 0 {
			c.Points[i/2] = p
			continue
		}
		for j, n := range p {
			c.Points[i/2][j] += n
		}
	}
	c.Points = c.Points[:(len(c.Points)+1)/2]
}

// named returns the curve with the names of its tenants, in order of their numbers.
func (c *Curve) named(order []*tenant) Curve {
	out := Curve{Every: c.Every}
	for _, t := range order[:min(len(order), mostCurved)] {
		out.Tenants = append(out.Tenants, t.name)
	}
	for _, p := range c.Points {
		n := len(out.Tenants)
		out.Points = append(out.Points, append(p[:n:n], p[mostCurved]))
	}
	return out
}
