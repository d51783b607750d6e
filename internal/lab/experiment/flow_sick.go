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
		{"50 ms become 5 s, 60 % fail", model.Incident{Latency: span(2500 * time.Millisecond), P99: span(5 * time.Second), Failures: 0.6}, true},
		{"nine of ten fail at once", model.Incident{Latency: span(5 * time.Millisecond), Failures: 0.9}, true},
		{"all hang", model.Incident{Latency: span(time.Hour)}, true},
		{"a tenth of the servers is left", model.Incident{Capacity: fewServers / 0.04}, false},
	}
}

// world is a node with endless work before a downstream that falls sick.
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

// patient is how one run went: seconds until the breaker opened and from the end of the
// sickness to the full rate, the tasks in flight after half a minute of it on average, and, while it
// lasts, the tasks that succeeded and the calls that were made once the breaker had opened.
type patient struct{ opened, back, inFlight, done, calls float64 }

func (s sickness) run(seed uint64) patient {
	p := patient{opened: math.Inf(1), back: math.Inf(1)}
	for _, x := range run(s.world(seed)).Resources[0].Seconds {
		after := float64(x.At - sickFrom)
		if sick := x.At > sickFrom && x.At <= sickTo; sick {
			p.done += float64(x.Done)
			if after > p.opened {
				p.calls += float64(x.Started)
			}
			if after > 30 {
				p.inFlight += float64(x.InFlight) / (sickTo - sickFrom - 30)
			}
		}
		if after > 0 && x.Breaker != string(flow.Closed) { // half open is what it becomes
			p.opened = min(p.opened, after)
		}
		if x.At > sickTo && x.Done >= 0.95*sickRate {
			p.back = min(p.back, float64(x.At-sickTo))
		}
	}
	return p
}

// fallsSick is the worst of several runs with a downstream that is not well for
// two minutes. That it is left alone is taken to mean a tenth of the workers and a
// hundredth of the calls: a breaker that finds out by 15 tasks is now and then
// deceived for a few seconds by one that fails six times in ten.
func fallsSick(ill sickness, seeds uint64) []Line {
	all := patient{done: math.Inf(1)}
	for seed := range seeds {
		p := ill.run(1401 + seed)
		all.opened, all.back, all.inFlight = max(all.opened, p.opened), max(all.back, p.back), max(all.inFlight, p.inFlight)
		all.done, all.calls = min(all.done, p.done), max(all.calls, p.calls)
	}
	lines := []Line{{Target: 15, What: ill.name + ": full rate after recovery", Got: all.back, Want: 30, Unit: " s"}}
	if !ill.breaks {
		bears := float64(ill.is.Capacity) * (sickTo - sickFrom)
		return append(
			lines,
			Line{Target: 15, What: ill.name + ": in flight after 30 s, mean", Got: all.inFlight, Want: 4 * fewServers},
			Line{Target: 15, What: ill.name + ": done of what it bears", Got: 100 * all.done / bears, Want: 95, AtLeast: true, Unit: " %"},
		)
	}
	return append(
		lines,
		Line{Target: 15, What: ill.name + ": breaker open after", Got: all.opened, Want: 10, Unit: " s"},
		Line{Target: 15, What: ill.name + ": in flight after 30 s, mean", Got: all.inFlight, Want: sickWorkers / 10},
		Line{Target: 15, What: ill.name + ": calls of the usual ones once it has opened",
			Got: 100 * all.calls / (sickRate * (sickTo - sickFrom)), Want: 1, Unit: " %"},
	)
}
