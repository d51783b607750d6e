package dashboard

import (
	"context"
	"html/template"
	"math"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/dashboard/chart"
)

// points joins a column of rates with the column of their bounds.
func points(t *api.Timeline, values, bounds api.Column) (list []chart.Point) {
	for i, v := range values {
		p := chart.Point{At: t.At(i), Value: math.NaN()}
		if v != nil {
			p.Value = *v
		}
		if i < len(bounds) && bounds[i] != nil {
			p.Bound = *bounds[i]
		}
		list = append(list, p)
	}
	return list
}

// plus adds columns of counts; a value that one of them knows is known.
func plus(columns ...api.Column) api.Column {
	var sum api.Column
	for _, c := range columns {
		for len(sum) < len(c) {
			sum = append(sum, nil)
		}
		for i, v := range c {
			if v == nil {
				continue
			}
			total := *v
			if sum[i] != nil {
				total += *sum[i]
			}
			sum[i] = &total
		}
	}
	return sum
}

// last returns the newest known value of a column.
func last(c api.Column) (float64, bool) {
	for i := len(c) - 1; i >= 0; i-- {
		if c[i] != nil {
			return *c[i], true
		}
	}
	return 0, false
}

// hour asks for the series of the last hour, of one resource or of all.
func (v *visit) hour(ctx context.Context, resource string) (api.Series, error) {
	return v.api.Series(ctx, "hour", resource)
}

// speed draws items per second against what is allowed.
func (v *visit) speed(id, title, finding string, height int, t *api.Timeline, ended, allowed api.Column) template.HTML {
	from, to := t.Start, t.End
	if to.Sub(from) < time.Minute {
		from = to.Add(-time.Minute)
	}
	s := chart.Series{ID: id, Title: title, Desc: finding, Unit: "Items/s", Height: height, Clock: v.clock, From: from, To: to,
		Points: points(t, t.PerSecond(ended), allowed), Bound: "Allowed"}
	return s.HTML()
}
