package series

import (
	"github.com/weirhq/weir/internal/core/series"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/fleet"
)

// The measures of all nodes and of a resource, in the order in which they are stored: new ones come
// last.
const (
	done = iota
	failed
	cancelled
	retries
	refused
	calls
	allowedRate
	inFlight
	allowedInFlight
	workers
	neededWorkers
	ready
	oldestReady
)

var fleetMeasures = []series.Measure{
	done:            {Name: "done", Quiet: true},
	failed:          {Name: "failed", Quiet: true},
	cancelled:       {Name: "cancelled", Quiet: true},
	retries:         {Name: "retries", Quiet: true},
	refused:         {Name: "refused", Quiet: true},
	calls:           {Name: "calls", Quiet: true},
	allowedRate:     {Name: "allowed_rate", Rule: series.Level},
	inFlight:        {Name: "in_flight", Rule: series.Level, Quiet: true},
	allowedInFlight: {Name: "allowed_in_flight", Rule: series.Level},
	workers:         {Name: "workers", Rule: series.Level},
	neededWorkers:   {Name: "needed_workers", Rule: series.Level},
	ready:           {Name: "ready", Rule: series.Level, Quiet: true},
	oldestReady:     {Name: "oldest_ready", Rule: series.Peak, Quiet: true},
}

// The measures of a bulk action are the first of those.
var bulkMeasures = fleetMeasures[: inFlight+1 : inFlight+1]

// counts returns the values of a tally, with everything else unknown.
func counts(m []series.Measure, t engine.Tally) []float64 {
	v := make([]float64, len(m))
	for i := range v {
		v[i] = series.Unknown()
	}
	for i, n := range []int64{done: t.Done, failed: t.Failed, cancelled: t.Cancelled, retries: t.Retries, refused: t.Refused,
		calls: t.Calls} {
		v[i] = float64(n)
	}
	return v
}

// levels adds to values what all nodes together had.
func levels(v []float64, l *fleet.Level) {
	v[allowedRate], v[allowedInFlight] = limit(l.Rate), limit(float64(l.Concurrency))
	v[inFlight], v[workers], v[neededWorkers] = float64(l.InFlight), float64(l.Workers), l.Needed
	v[ready], v[oldestReady] = float64(l.Ready), l.Oldest.Seconds()
}

// limit returns a limit, which is unknown if there is no limit.
func limit(v float64) float64 {
	if v > 0 {
		return v
	}
	return series.Unknown()
}

// less returns what was counted since a tally.
func less(now, was engine.Tally) engine.Tally {
	return each(now, was, func(now, was int64) int64 { return now - was })
}

// each combines two tallies, count by count.
func each(a, b engine.Tally, f func(a, b int64) int64) engine.Tally {
	return engine.Tally{
		Done: f(a.Done, b.Done), Failed: f(a.Failed, b.Failed), Cancelled: f(a.Cancelled, b.Cancelled),
		Retries: f(a.Retries, b.Retries), Refused: f(a.Refused, b.Refused), Calls: f(a.Calls, b.Calls),
	}
}

// sampleOf returns a bulk action as it was seen at a time.
func sampleOf(m *engine.Moved) series.Sample {
	v := counts(bulkMeasures, m.Tally)
	v[inFlight], v[allowedRate] = float64(m.InFlight), limit(m.Bound)
	return series.Sample{Since: m.Since, From: m.From, At: m.At, Values: v}
}
