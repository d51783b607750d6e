package engine

import (
	"context"
	"time"

	"github.com/weirhq/weir/internal/engine/own"
)

// A changed limit must hold on all nodes by the time that the change is
// answered, whichever node is dead, frozen or cut off, and whether or not there
// is a leader. Two rules see to that:
//
//   - A node that shares its store announces itself, and reads the limits after
//     that, four times a second. What it has read is good for limitsFor from the
//     announcement on; after that it starts nothing before it has read them again.
//   - A change of limits is answered when every announced node has said that it
//     keeps to this version or a newer one, or limitsFor after it was written.
//
// A node that joins meanwhile is either on the list, or it reads the limits
// after they were written.

// LimitsWithin is how long a change of limits takes to be in force at most, and
// how soon all nodes keep to circuits set by hand.
const LimitsWithin = limitsFor

const (
	limitsFor    = own.SilentAfter // a node that was silent for so long starts nothing
	confirmEvery = 20 * time.Millisecond
)

// awaitLimits waits until a version of the limits, which was written before a
// time, is in force on all nodes. Where no node runs it returns at once.
func (o *Operator) awaitLimits(ctx context.Context, version uint64, written time.Time) error {
	for ctx.Err() == nil && time.Since(written) < limitsFor {
		if o.obeyed(ctx, version) {
			return nil
		}
		sleep(ctx, confirmEvery)
	}
	return ctx.Err()
}

// obeyed reports whether all announced nodes have said that they keep to a
// version of the limits. If the store does not answer, that is not known.
func (o *Operator) obeyed(ctx context.Context, version uint64) bool {
	ctx, cancel := context.WithTimeout(ctx, limitsFor/4)
	defer cancel()
	nodes, err := own.Announced(ctx, o.store)
	if err != nil {
		return false
	}
	for _, n := range nodes {
		if n.Limits < version {
			return false
		}
	}
	return true
}

// obey reads what operators have set of limits, circuits and rules, and has it
// kept. This node announced itself after announced, so it counts from then on.
func (e *Engine) obey(ctx context.Context, announced time.Time) error {
	if err := e.obeyLimits(ctx); err != nil {
		return err
	}
	if err := e.obeySettings(ctx); err != nil {
		return err
	}
	lapsed := !e.current(time.Now())
	life := min(limitsFor, e.opts.LeaseFor)
	end := announced.Add(life - life/100) // clocks may run at different speeds
	e.limits.until.Store(&end)
	if lapsed {
		e.wakeParts()
	}
	return nil
}

// current reports whether the limits that this node knows certainly hold.
func (e *Engine) current(now time.Time) bool {
	if !e.share.can.Shared() {
		return true
	}
	end := e.limits.until.Load()
	return end != nil && own.CertainlyBefore(now, *end)
}

// wakeParts has the partitions of this node look whether they may start something.
func (e *Engine) wakeParts() {
	for i := range e.parts {
		if p := e.parts[i].Load(); p != nil {
			p.mail.put(input{renewed: true})
		}
	}
}
