package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/store"
)

// doubt is the time in which a node may not know of all others, since the store has forgotten them, or has
// not answered for so long that they seem to be gone. Others tell of themselves again within that time.
type doubt struct {
	restored int64     // when the map of partitions was put back, as far as is known
	looked   time.Time // when the others were last seen
	until    time.Time
	emptied  bool // the store has forgotten leases, too
}

// ask is called before the node looks for the others. It reports whether the node is in doubt.
func (d *doubt) ask(now time.Time, lease time.Duration) bool {
	if !d.looked.IsZero() && now.Sub(d.looked) > lease/2 {
		d.begin(now, lease, false)
	}
	return now.Before(d.until)
}

// look takes note of what was seen now.
func (d *doubt) look(now time.Time, restored int64, lease time.Duration) {
	first := d.looked.IsZero()
	switch {
	case first && restored != 0 && now.Sub(time.Unix(0, restored)) < lease, // clocks may differ, but seldom by that much
		!first && restored != d.restored && restored != 0:
		d.begin(now, lease, true)
	}
	d.ask(now, lease) // the look itself may have been slow
	d.restored, d.looked = restored, now
}

func (d *doubt) begin(now time.Time, lease time.Duration, emptied bool) {
	d.emptied = emptied || d.emptied && now.Before(d.until)
	d.until = now.Add(max(lease, store.ReturnFor))
}

// canEnd reports whether announcements of other nodes can end the doubt. If the store was emptied they cannot: an owner
// goes on announcing itself until it notices that its lease is gone.
func (d *doubt) canEnd(now time.Time) bool { return now.Before(d.until) && !d.emptied }

// look finds out who is there, which map holds, and which partitions only this node can put back.
func (o *ownership) look(ctx context.Context) error {
	e := o.engine
	e.fleet.inDoubt.Store(e.remembers() && o.doubt.ask(time.Now(), e.opts.LeaseFor))
	if err := e.look(ctx); err != nil || !e.remembers() {
		return err
	}
	now := time.Now()
	o.doubt.look(now, e.layout.now().Restored, e.opts.LeaseFor)
	if o.doubt.canEnd(now) && e.allRun(now) {
		o.doubt.until = now
		e.fleet.inDoubt.Store(false)
	}
	return o.inherit(ctx, !now.Before(o.doubt.until))
}

// allRun reports whether every partition has an owner that did not lose contact with the store. Then no node can
// remember more of a partition than its owner does, and only this node was cut off.
func (e *Engine) allRun(now time.Time) bool {
	runs := map[int]bool{}
	e.fleet.mu.Lock()
	for name, n := range e.fleet.nodes {
		for p := range n.Pending {
			runs[p] = runs[p] || name != e.node && !n.InDoubt
		}
	}
	e.fleet.mu.Unlock()
	for p := range e.layout.now().Most {
		own := e.parts[p].Load()
		if !runs[p] && (own == nil || !own.sure(now)) {
			return false
		}
	}
	return true
}

// errInDoubt ends an ownership that began before the node had reason to doubt what it knew of the others.
var errInDoubt = errors.New("the store may have lost the map of partitions: an owner that remembers this one goes first")

// checkTaken looks whether the store was emptied between the decision to take the partition and the lease: the
// lease was free then because the store had forgotten it.
func (p *part) checkTaken(ctx context.Context) error {
	e := p.engine
	if _, mine := e.past.mine(p.no); mine || !e.remembers() {
		return nil
	}
	_, m, err := e.readLayout(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errInDoubt, err)
	case m == nil || m.Restored != p.restored:
		return errInDoubt
	}
	return nil
}

// inherit finds the partitions of which this node remembers more than the store
// has. Any other node that took one would begin with what is left, and what was
// acknowledged would be gone.
func (o *ownership) inherit(ctx context.Context, sure bool) error {
	e := o.engine
	o.sole = map[int]bool{}
	for p := range e.layout.now().Most {
		if _, stopped := e.losses.of(p); stopped {
			o.sole[p] = e.opts.AcceptLoss // whatever the shares say: others may not run it
			continue
		}
		acked, mine := e.past.mine(p)
		if !mine || e.parts[p].Load() != nil { // one that runs looks after itself
			continue
		}
		last, err := e.store.Last(ctx, p)
		if err != nil {
			return err
		}
		_, owned := o.owned[p]
		switch {
		case last.Number < acked:
			o.sole[p] = true
		case sure && !owned: // another node has it, with all that was acknowledged to this one
			e.past.left(p)
		}
	}
	return nil
}

// mayRun reports whether a partition is not stopped for a loss, or may be run in spite of it.
func (e *Engine) mayRun(p int) bool {
	_, stopped := e.losses.of(p)
	return !stopped || e.opts.AcceptLoss
}

// mayTake reports whether this node may take a partition that falls to it: while it may not know of all
// others, only one that it had itself. Who remembers it may be among those others.
func (o *ownership) mayTake(p int) bool {
	_, mine := o.engine.past.mine(p)
	return mine || !time.Now().Before(o.doubt.until)
}
