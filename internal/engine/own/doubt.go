package own

import (
	"context"
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
func (m *Member) look(ctx context.Context) error {
	m.fleet.inDoubt.Store(m.Past.Witness() != nil && m.doubt.ask(time.Now(), m.LeaseFor))
	if err := m.lookAround(ctx); err != nil || m.Past.Witness() == nil {
		return err
	}
	now := time.Now()
	m.doubt.look(now, m.layout.Now().Restored, m.LeaseFor)
	if m.doubt.canEnd(now) && m.allRun(now) {
		m.doubt.until = now
		m.fleet.inDoubt.Store(false)
	}
	return m.inherit(ctx, !now.Before(m.doubt.until))
}

// allRun reports whether every partition has an owner that did not lose contact with the store. Then no node can
// remember more of a partition than its owner does, and only this node was cut off.
func (m *Member) allRun(now time.Time) bool {
	runs := map[int]bool{}
	m.fleet.mu.Lock()
	for name, n := range m.fleet.nodes {
		for p := range n.Pending {
			runs[p] = runs[p] || name != m.Node && !n.InDoubt
		}
	}
	m.fleet.mu.Unlock()
	for p := range m.layout.Now().Most {
		own := m.Running(p)
		if !runs[p] && (own == nil || !own.Sure(now)) {
			return false
		}
	}
	return true
}

// inherit finds the partitions of which this node remembers more than the store
// has. Any other node that took one would begin with what is left, and what was
// acknowledged would be gone.
func (m *Member) inherit(ctx context.Context, sure bool) error {
	m.sole = map[int]bool{}
	for p := range m.layout.Now().Most {
		if _, stopped := m.Losses.Of(p); stopped {
			m.sole[p] = m.AcceptLoss // whatever the shares say: others may not run it
			continue
		}
		acked, mine := m.Past.Mine(p)
		if !mine || m.Running(p) != nil { // one that runs looks after itself
			continue
		}
		last, err := m.Store.Last(ctx, p)
		if err != nil {
			return err
		}
		_, owned := m.owned[p]
		switch {
		case last.Number < acked:
			m.sole[p] = true
		case sure && !owned: // another node has it, with all that was acknowledged to this one
			m.Past.Left(p)
		}
	}
	return nil
}

// mayRun reports whether a partition is not stopped for a loss, or may be run in spite of it.
func (m *Member) mayRun(p int) bool {
	_, stopped := m.Losses.Of(p)
	return !stopped || m.AcceptLoss
}

// mayTake reports whether this node may take a partition that falls to it: while it may not know of all
// others, only one that it had itself. Who remembers it may be among those others.
func (m *Member) mayTake(p int) bool {
	_, mine := m.Past.Mine(p)
	return mine || !time.Now().Before(m.doubt.until)
}
