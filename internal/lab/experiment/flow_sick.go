package experiment

import (
	"math"
	"time"

	"github.com/weirhq/weir/internal/core/flow"
	"github.com/weirhq/weir/internal/lab/model"
)

// A downstream is not well from second sickFrom to sickTo.
const (
	sickFrom, sickTo, sickEnd = 60, 180, 300

	sickRate    = 1000 // tasks a second, of one item each
	sickWorkers = 256
	fewServers  = 4 // of forty that would be busy
)

// sickness is what a downstream does to tasks while it is not well. Well, it takes
// about 40 ms.
type sickness struct {
	name string
	is   model.Incident
	// breaks tells that the breaker has to open.
	breaks bool
}

func sicknesses() []sickness {
	span := func(d time.Duration) model.Span { return model.Span(d) }
	return []sickness{
		{"50 ms become 5 s, 60 % fail", model.Incident{Latency: span(2500 * time.Millisecond), P99: span(5 * time.Second),
			Failures: 0.6}, true},
		{"nine of ten fail at once", model.Incident{Latency: span(5 * time.Millisecond), Failures: 0.9}, true},
		{"all hang", model.Incident{Latency: span(time.Hour)}, true},
		{"a tenth of the servers is left", model.Incident{Capacity: fewServers / 0.04}, false},
	}
}

// world returns a node with endless work before a downstream that falls sick.
func (s sickness) world(seed uint64) model.World {
	s.is.From, s.is.For = model.Span(sickFrom*time.Second), model.Span((sickTo-sickFrom)*time.Second)
	r := api(sickRate, 40*time.Millisecond)
	r.Timeout, r.Attempts = model.Span(5*time.Second), 1
	r.Downstream.P99, r.Downstream.Overload = model.Span(50*time.Millisecond), model.Slow
	r.Downstream.Incidents = []model.Incident{s.is}
	work := onAPI("endless", 2*sickRate*sickEnd)
	work.Batch = 1
	w := place{1, 1}.world(seed, r)
	w.Nodes[0].Slots, w.Workers = sickWorkers, model.Workers{Min: sickWorkers, Max: sickWorkers}
	w.Length, w.BulkActions = model.Span(sickEnd*time.Second), []model.BulkAction{work}
	return w
}

// lines watch a downstream that is not well for two minutes. That it is left alone is taken
// to mean a tenth of the workers and a hundredth of the calls: a breaker that finds out by 15
// tasks is now and then deceived for a few seconds by one that fails six times in ten.
func (s sickness) lines(seed uint64) []Line {
	// Seconds until the breaker opened and from the end of the sickness to the full rate, the tasks in flight after
	// half a minute of it on average, and, while it lasts, the tasks that succeeded and the calls that were made once
	// the breaker had opened.
	opened, back, inFlight, done, calls := math.Inf(1), math.Inf(1), 0.0, 0.0, 0.0
	for _, x := range run(s.world(seed)).Resources[0].Seconds {
		after := float64(x.At - sickFrom)
		if sick := x.At > sickFrom && x.At <= sickTo; sick {
			done += float64(x.Done)
			if after > opened {
				calls += float64(x.Started)
			}
			if after > 30 {
				inFlight += float64(x.InFlight) / (sickTo - sickFrom - 30)
			}
		}
		if after > 0 && x.Breaker != string(flow.Closed) { // half open is what it becomes
			opened = min(opened, after)
		}
		if x.At > sickTo && x.Done >= 0.95*sickRate {
			back = min(back, float64(x.At-sickTo))
		}
	}
	again := atMost(15, s.name+": full rate after recovery", back, 30, " s")
	if !s.breaks {
		bears := float64(s.is.Capacity) * (sickTo - sickFrom)
		return []Line{
			again,
			atMost(15, s.name+": in flight after 30 s, mean", inFlight, 4*fewServers, ""),
			atLeast(15, s.name+": done of what it bears", 100*done/bears, 95, " %"),
		}
	}
	return []Line{
		again,
		atMost(15, s.name+": breaker open after", opened, 10, " s"),
		atMost(15, s.name+": in flight after 30 s, mean", inFlight, sickWorkers/10, ""),
		atMost(15, s.name+": calls of the usual ones once it has opened", 100*calls/(sickRate*(sickTo-sickFrom)), 1, " %"),
	}
}
