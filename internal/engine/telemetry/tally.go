package telemetry

import (
	"maps"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
)

// Tally counts what happened to items at a resource, or on the whole node: there, Done, Failed and
// Cancelled count each item once, at its end. It counts what is durable.
type Tally struct {
	Done, Failed, Cancelled int64
	Retries, Refused        int64 // attempts
	Calls                   int64 // that ended
}

func (t *Tally) add(o *Tally) {
	t.Done += o.Done
	t.Failed += o.Failed
	t.Cancelled += o.Cancelled
	t.Retries += o.Retries
	t.Refused += o.Refused
	t.Calls += o.Calls
}

// Tallies returns what this node has counted since it was opened, by resource. The empty name
// stands for all together.
func (c *Recorder) Tallies() map[string]Tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make(map[string]Tally, len(c.tallies))
	for name, t := range c.tallies {
		out[name] = *t
	}
	return out
}

func (t *Counter) tallyOf(resource string) *Tally {
	n := t.tallies[resource]
	if n == nil {
		n = &Tally{}
		t.tallies[resource] = n
	}
	return n
}

// tally counts what happened to a bulk action since it was shown last.
func (t *Counter) tally(k *counted, v *weir.Progress) {
	all := t.tallyOf("")
	for i := range min(len(v.Steps), len(k.steps), len(k.uses)) {
		is, was := &v.Steps[i], &k.steps[i]
		if *is == *was {
			continue
		}
		d := Tally{
			Done:    max(is.Done-is.Skipped-was.Done+was.Skipped, 0),
			Failed:  max(is.Failed-was.Failed, 0),
			Retries: max(is.Retries-was.Retries, 0),
			Refused: max(is.Refused-was.Refused, 0),
			Calls:   max(is.Calls-was.Calls, 0),

			Cancelled: max(is.LeftOut+is.Cancelled-was.LeftOut-was.Cancelled, 0),
		}
		t.tallyOf(k.uses[i]).add(&d)
		all.add(&Tally{Retries: d.Retries, Refused: d.Refused, Calls: d.Calls})
	}
	is, was := &v.Counts, &k.counts
	all.add(&Tally{Done: max(is.Done-was.Done, 0), Failed: max(is.Failed-was.Failed, 0), Cancelled: max(is.Cancelled-was.Cancelled, 0)})
}

// Moved tells how far a bulk action has come that moved: of which anything was committed. Its
// tally counts from its start.
type Moved struct {
	ID      weir.BulkID
	Started time.Time // zero: it has not started
	// Since is when this owner told of it before, or when it was created here; zero: neither. From is
	// a time since then until which nothing was committed.
	Since, From time.Time
	At          time.Time
	Tally
	InFlight int64
	// Bound is the lowest rate that a step of it has; 0: none has one.
	Bound float64
}

// TakeMoved returns the bulk actions that are at home in the partition and moved since the last
// call. One that was loaded with the partition is told of twice at first: as it was then, which tells
// what became of it before, and as it is now.
func (t *Counter) TakeMoved(now int64, m *partition.Machine) []Moved {
	out := make([]Moved, 0, len(t.moved))
	for _, id := range slices.Sorted(maps.Keys(t.moved)) {
		k := t.moved[id]
		x := Moved{ID: id, At: time.Unix(0, now).UTC(), InFlight: k.counts.InFlight, Tally: TallyOf(k.counts, k.steps)}
		x.Bound, _ = m.Bounds(id)
		if k.ended > 0 {
			x.At = time.Unix(0, min(k.ended, now)).UTC()
		}
		if k.started > 0 && k.state != weir.BulkSealed && k.state != weir.BulkScheduled {
			x.Started = time.Unix(0, k.started).UTC()
		}
		if k.since == 0 {
			before := x
			before.At, before.Tally, before.InFlight = time.Unix(0, t.begun).UTC(), k.loaded, 0
			out = append(out, before)
			k.since = t.begun
		}
		x.Since, x.From = time.Unix(0, k.since).UTC(), time.Unix(0, max(t.asked, k.since)).UTC()
		k.since, k.told = now, true
		out = append(out, x)
	}
	t.asked = now
	clear(t.moved)
	return out
}

// TallyOf returns the tally of a bulk action from its start.
func TallyOf(c weir.Counts, steps []weir.StepCounts) Tally {
	t := Tally{Done: c.Done, Failed: c.Failed, Cancelled: c.Cancelled}
	for i := range steps {
		t.Retries += steps[i].Retries
		t.Refused += steps[i].Refused
		t.Calls += steps[i].Calls
	}
	return t
}
