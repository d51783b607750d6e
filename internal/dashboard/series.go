package dashboard

import (
	"context"
	"html/template"
	"math"
	"slices"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/chart"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// points joins a column of rates with the column of their bounds, from a time on.
func points(from time.Time, t *api.Timeline, values, bounds api.Column) (list []chart.Point) {
	for i, v := range values {
		p := chart.Point{At: t.At(i), Value: math.NaN()}
		if p.At.Before(from) {
			continue
		}
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

// withoutLast returns a column of counts without the last n of what it counts.
func withoutLast(c api.Column, n int64) api.Column {
	out, left := slices.Clone(c), float64(n)
	for i := len(out) - 1; i >= 0 && left > 0; i-- {
		if out[i] != nil {
			rest := max(*out[i]-left, 0)
			left -= *out[i] - rest
			out[i] = &rest
		}
	}
	return out
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

// hour asks for the series of the last hour, of one resource or of all. It has no points for people who see some tenants
// only: it has the sums of all tenants.
func (v *visit) hour(ctx context.Context, resource string) (api.Series, error) {
	if !v.covers(nil) {
		return api.Series{}, nil
	}
	return v.api.Series(ctx, "hour", resource)
}

// fewest is the least number of steps that a chart spans.
const fewest = 30

// whole is the span of a chart that begins where its columns do.
func whole(t *api.Timeline, _ ...api.Column) (from, to time.Time) { return t.Start, t.End }

// lately is the span of a chart of the last hour: from the first value on, so that what is new is not a dot at the edge.
func lately(t *api.Timeline, columns ...api.Column) (from, to time.Time) {
	first := t.Points
	for _, c := range columns {
		for i := 0; i < min(first, len(c)); i++ {
			if c[i] != nil {
				first = i
			}
		}
	}
	from = t.Start.Add(time.Duration(first) * time.Duration(t.Step))
	if least := fewest * time.Duration(t.Step); t.End.Sub(from) < least {
		from = t.End.Add(-least)
	}
	return from, t.End
}

// spanned says how long the chart of lately spans: an hour, or less if there are values of less.
func spanned(t *api.Timeline, columns ...api.Column) string {
	from, to := lately(t, columns...)
	if span := to.Sub(from).Round(time.Minute); span < time.Hour {
		return "last " + format.Duration(span)
	}
	return "last hour"
}

// speed draws items per second against what is allowed; span says over which time.
func (v *visit) speed(id, title, finding string, height int, t *api.Timeline, ended, allowed api.Column,
	span func(*api.Timeline, ...api.Column) (from, to time.Time)) template.HTML {
	from, to := span(t, ended)
	s := chart.Series{ID: id, Title: title, Desc: finding, Unit: "Items/s", Height: height, Clock: v.clock, From: from, To: to, Step: time.Duration(t.Step),
		Points: points(from, t, t.PerSecond(ended), allowed), Bound: "Allowed"}
	return s.HTML()
}
