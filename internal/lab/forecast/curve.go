package forecast

import (
	"time"

	"github.com/weirhq/weir/internal/lab/model"
)

// Workers is how many workers a resource has at most.
type Workers struct {
	Resource string
	Peak     int
}

// Curve is how many items of each tenant are sent downstream, over time.
type Curve struct {
	// Every is the time between two points; the first tells of what was before it.
	Every time.Duration
	// Tenants are those of the points. One that is empty stands for all others.
	Tenants []string
	Points  [][]int64
}

// workers tells the most workers over all runs.
func (p *plan) workers(runs []model.Result) (out []Workers) {
	for i, res := range p.used {
		w := Workers{Resource: res.Name}
		for _, r := range runs {
			w.Peak = max(w.Peak, r.Resources[i].WorkersPeak)
		}
		out = append(out, w)
	}
	return out
}

// curve is that of the first run, drawn out to the size of the work.
func (p *plan) curve(l line) Curve {
	c := l.large.runs[0].Curve
	longer := 1.0
	if at := middle(l.large.took); at > 0 {
		longer = l.drawn() / at
	}
	out := Curve{Every: seconds(time.Duration(c.Every).Seconds() * longer), Points: c.Points}
	names := map[string]string{p.tenant(p.w.Tenant): p.w.Tenant}
	for i, o := range p.others {
		if i < mostOthers {
			names[p.tenant(o.Tenant)] = o.Tenant
		}
	}
	for _, t := range c.Tenants {
		out.Tenants = append(out.Tenants, names[t])
	}
	if len(c.Points) > 0 {
		out.Tenants = append(out.Tenants, "")
	}
	return out
}
