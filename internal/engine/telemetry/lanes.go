package telemetry

import (
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
)

// Lanes holds what the loop of a partition has counted of its lanes since it owns them. It belongs to the loop.
type Lanes struct {
	loads  []partition.LaneLoad   // reused
	totals map[string]*laneTotals // by resource
}

// Look adds what the lanes did to what they did before, and returns it. A lane that has
// long been idle, with no more workers than it started with, is left out.
func (l *Lanes) Look(now int64, no int, m *partition.Machine, workers int) (lanes []weir.Lane) {
	l.loads = m.Observe(now, l.loads[:0])
	if l.totals == nil {
		l.totals = map[string]*laneTotals{}
	}
	for i := range l.loads {
		x := &l.loads[i]
		t := l.totals[x.Resource]
		if t == nil {
			t = &laneTotals{Lane: weir.Lane{ID: weir.LaneID{Partition: no, Resource: x.Resource}}}
			l.totals[x.Resource] = t
		}
		t.add(x)
		t.addTenants(now, x)
		switch {
		case !t.Idle() || x.Ended > 0:
			t.idleSince = 0
		case t.idleSince == 0:
			t.idleSince = now
		case now-t.idleSince > idleFor && t.Workers <= workers:
			continue
		}
		lanes = append(lanes, t.Lane)
	}
	return lanes
}

// laneTotals is what was counted of one lane.
type laneTotals struct {
	weir.Lane
	idleSince int64
	looked    int64            // when the lane was looked at last
	taken     map[string]int64 // items of its tenants by then
	rates     map[string]float64
}

// idleFor is how long a lane without work is still told of.
const idleFor = int64(time.Minute)

func (t *laneTotals) add(x *partition.LaneLoad) {
	t.Workers, t.Chunk = x.Workers, x.Chunk
	t.Ready, t.Eligible, t.Waiting, t.Spare = x.Ready, x.Backlog, x.Waiting, x.Spare
	t.InFlight, t.Busy, t.Weight = x.InFlight, x.Busy, x.Weight
	t.Wait50, t.Wait99, t.Oldest = time.Duration(x.Wait50), time.Duration(x.Wait99), time.Duration(x.Oldest)
	t.Cause = ""
	if t.Eligible > 0 {
		t.Cause = x.Cause.String()
	}
	t.Arrived += x.Arrived
	t.Started += int64(x.Started)
	t.Sent += x.Sent
	t.Ended += int64(x.Ended)
	t.Failed += int64(x.Failed)
	t.Refused += int64(x.Refused)
	t.Took += time.Duration(x.Took)
	t.Items, t.Again, t.Gone = t.Items+x.Items, t.Again+x.Again, t.Gone+x.Gone
}

// rateOver is the part of a new second in a rate that is told as lately.
const rateOver = 0.2

// mostTaken bounds how many tenants a lane remembers.
const mostTaken = 1000

// addTenants reckons what the tenants of a lane got lately.
func (t *laneTotals) addTenants(now int64, x *partition.LaneLoad) {
	span := float64(now-t.looked) / 1e9
	if t.looked == 0 || span <= 0 {
		span = 1
	}
	part := min(rateOver*span, 1)
	t.Rate += part * (float64(x.Taken)/span - t.Rate)
	if t.Rate < 1e-3 {
		t.Rate = 0
	}
	taken, rates := make(map[string]int64, len(x.Top)), make(map[string]float64, len(x.Top))
	t.Tenants = make([]weir.LaneTenant, 0, len(x.Top))
	for _, top := range x.Top {
		got, rate := top.Taken, t.rates[top.Name]
		before, known := t.taken[top.Name]
		switch {
		case known && before <= top.Taken:
			got -= before
		case !known:
			got = min(got, x.Taken) // it is not known since when
		}
		if t.looked == 0 {
			got = 0 // it is not known since when
		}
		rate += part * (float64(got)/span - rate)
		taken[top.Name], rates[top.Name] = top.Taken, rate
		t.Tenants = append(t.Tenants, weir.LaneTenant{Tenant: top.Name, Ready: top.Backlog, InFlight: top.InFlight,
			Rate: rate, Claim: top.Claim})
	}
	for name, n := range t.taken {
		if _, there := taken[name]; !there && len(taken) < mostTaken {
			taken[name] = n // it may come back, and its counter goes on
		}
	}
	t.looked, t.taken, t.rates = now, taken, rates
}
