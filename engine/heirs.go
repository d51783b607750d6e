package engine

import (
	"context"
	"time"
)

// doubt is the time in which a node may not know of all others, since the store has forgotten them, or has
// not answered for so long that they seem to be gone. Others tell of themselves again within that time.
type doubt struct {
	restored int64     // when the map of partitions was put back, as far as is known
	looked   time.Time // when the others were last seen
	until    time.Time
}

// look takes note of what was seen now.
func (d *doubt) look(now time.Time, restored int64, lease time.Duration) {
	first := d.looked.IsZero()
	switch {
	case first && restored != 0 && now.Sub(time.Unix(0, restored)) < lease, // clocks may differ, but seldom by that much
		!first && restored != d.restored && restored != 0,
		!first && now.Sub(d.looked) > lease/2:
		d.until = now.Add(lease)
	}
	d.restored, d.looked = restored, now
}

// look finds out who is there, which map holds, and which partitions only this node can put back.
func (o *ownership) look(ctx context.Context) error {
	e := o.engine
	if err := e.look(ctx); err != nil || !e.remembers() {
		return err
	}
	now := time.Now()
	o.doubt.look(now, e.layout.now().Restored, e.opts.LeaseFor)
	return o.inherit(ctx, now.After(o.doubt.until))
}

// inherit finds the partitions of which this node remembers more than the store
// has. Whoever else took one would begin with what is left, and what was
// acknowledged would be gone.
func (o *ownership) inherit(ctx context.Context, sure bool) error {
	e := o.engine
	o.heirs = map[int]bool{}
	for p := range e.layout.now().Most {
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
			o.heirs[p] = true
		case sure && !owned: // another node has it, with all that was acknowledged to this one
			e.past.left(p)
		}
	}
	return nil
}

// mayTake reports whether this node may take a partition that falls to it: while it may not know of all
// others, only one that it had itself. Who remembers it may be among those others.
func (o *ownership) mayTake(p int) bool {
	_, mine := o.engine.past.mine(p)
	return mine || !time.Now().Before(o.doubt.until)
}
