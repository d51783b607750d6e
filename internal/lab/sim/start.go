package sim

import (
	"math/rand/v2"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/lab/virtual"
)

const (
	leastRate = 10.0   // items per second: the lowest rate of its own that a bulk action can live with
	standing  = 0.0005 // one that it cannot: a user has to change it
)

// planStart draws what a bulk action waits for before it starts, what it tries
// first, what it allows itself, and what is decided about that when.
func (w *World) planStart(b *truth, at int64) {
	if !w.plan.starts {
		return
	}
	r, c := virtual.Named(w.seed, "start", b.no), &b.spec
	b.users, c.Notify = r, chance(r, 0.6)
	switch r.IntN(4) {
	case 0:
		c.Hold = true
	case 1:
		c.StartAt = epoch + at + between(r, 0, 15*second)
	}
	b.drawCanary(r)
	if chance(r, 0.1) {
		c.StopOn = weir.StopRule{FailureRate: 0.01, MinItems: c.Items} // fires when the last item ends, if at all
	}
	if chance(r, 0.3) {
		c.Rates = map[string]float64{c.Steps[r.IntN(len(c.Steps))]: drawRate(r)}
	}
	w.planStarts(r, b, at)
	for range r.IntN(3) {
		w.After(at+between(r, 0, 15*second), func() { w.command(b, partition.Command{Verb: partition.Change, Rules: b.drawRules(r)}) })
	}
}

// drawCanary has the first blocks run before the others. What is shared has none.
func (b *truth) drawCanary(r *rand.Rand) {
	if b.spec.Shared() || len(b.starts) < 2 || !chance(r, 0.4) {
		return
	}
	c := &partition.Canary{Items: int64(b.starts[1+r.IntN(len(b.starts)-1)]), Auto: chance(r, 0.6)}
	if c.Auto {
		c.Success = [...]float64{0, 0.5, 0.9, 2}[r.IntN(4)] // the last one never holds
		c.P95 = [...]int64{0, 0, 0, 1}[r.IntN(4)]           // nor does this one
	}
	b.spec.Canary = c
}

func drawRate(r *rand.Rand) float64 {
	rate := leastRate + float64(r.IntN(40))
	if chance(r, 0.15) {
		return standing
	}
	return rate
}

// planStarts draws who starts a bulk action that is held or has a time, and who
// takes that back; some of it just when the time comes.
func (w *World) planStarts(r *rand.Rand, b *truth, at int64) {
	if !b.spec.Hold && b.spec.StartAt == 0 {
		return
	}
	for range r.IntN(4) {
		when := at + between(r, 0, 15*second)
		if b.spec.StartAt != 0 && chance(r, 0.5) {
			when = b.spec.StartAt - epoch + between(r, -20*millis, 20*millis)
		}
		c := partition.Command{Verb: partition.Start}
		switch r.IntN(3) {
		case 0:
			c.Verb = partition.Unset
		case 1:
			c.At = epoch + when + between(r, -second, 8*second)
		}
		w.After(when, func() { w.command(b, c) })
	}
}

// drawRules draws a change of some of the rules.
func (b *truth) drawRules(r *rand.Rand) *weir.Rules {
	rules := &weir.Rules{}
	if chance(r, 0.3) {
		rules.Tier = new(weir.Tier(r.IntN(4)))
	}
	if chance(r, 0.3) {
		rules.Priority = new(r.IntN(5) - 2)
	}
	if chance(r, 0.4) {
		rules.Concurrency = new(r.IntN(5))
	}
	if chance(r, 0.5) {
		rate := weir.Rate(drawRate(r))
		if chance(r, 0.3) {
			rate = 0
		}
		rules.Rates = map[string]weir.Rate{b.spec.Steps[r.IntN(len(b.spec.Steps))]: rate}
	}
	if chance(r, 0.2) {
		rules.StopOn = &weir.StopRule{FailureRate: r.Float64() * 0.5, MinItems: 1 + r.Int64N(20), Cancel: chance(r, 0.1)}
	}
	return rules
}

// awaits makes a user decide on the rest once the canary is seen to have ended,
// sometimes decide again, and sometimes just when the node dies.
func (w *World) awaits(b *truth) {
	r := b.users
	for range r.IntN(3) {
		at := between(r, 0, 3*second)
		w.After(at, func() { w.command(b, partition.Command{Verb: partition.Approve}) })
		if !chance(r, 0.3) || w.plan.node.crash == 0 {
			continue
		}
		w.After(at+between(r, 0, 10*millis), func() {
			if o := w.ownerOf(b.partition); o != nil && !w.healed {
				o.node.crash(between(w.faults, 100*millis, 5*second))
			}
		})
	}
}

// decision returns the command of a user for a bulk action that does not proceed.
func (w *World) decision(b *truth) *partition.Command {
	c := &partition.Command{}
	switch b.state() {
	case weir.BulkPaused, weir.BulkStopped:
		c.Verb = partition.Resume
	case weir.BulkSealed:
		c.Verb = partition.Start
	case weir.BulkAwaiting:
		c.Verb = partition.Approve
	default:
		return nil
	}
	if chance(w.users, 0.1) {
		c.Verb = partition.Cancel
	}
	return c
}

// hasten changes rates at which a bulk action would never end.
func (w *World) hasten(b *truth) {
	now := b.version(len(b.changes))
	for _, name := range b.spec.Steps {
		if now.rates[name] == standing {
			rate := weir.Rate(0)
			if chance(b.users, 0.5) {
				rate = 20
			}
			w.command(b, partition.Command{Verb: partition.Change, Rules: &weir.Rules{Rates: map[string]weir.Rate{name: rate}}})
		}
	}
}
