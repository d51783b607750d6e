package quota

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/weirhq/weir/store"
)

// Table accounts for one limit. [New] returns one.
//
// A node's name must be new after each start: a node that starts again has forgotten what it
// used in the last window, and must not report under the old name.
type Table struct {
	units   int64
	window  int64
	nodes   map[string]*entry
	targets map[string]int64
	epoch   uint64 // of the leader that set the targets
	permits permits
	learn   int64 // nothing new is given away before this time
}

// entry is one node.
type entry struct {
	said  store.Holding
	out   int64 // the most that any window from now on can hold of it
	quota int64 // last given
	units int64 // the limit when it was given
	until int64 // when its quota ends, unless it asks again
}

// New returns an empty table.
func New(l store.Limit) *Table {
	return &Table{
		units: l.Units, window: int64(l.Window),
		nodes: map[string]*entry{}, targets: map[string]int64{},
		permits: newPermits(l.Window),
	}
}

// SetUnits changes the limit. If it is lower, what was given away stays out until the nodes ask
// again or the permits have left the window. Nodes that ask get less at once, whether or not a
// leader has set targets for the lower limit.
func (t *Table) SetUnits(units int64) { t.units = units }

// Learn makes the table give nothing new before until: it may have forgotten
// what it gave away. Until then nodes keep what they say they hold, and permits
// are refused.
func (t *Table) Learn(until int64) { t.learn = max(t.learn, until) }

// Hold records a node's report and returns its quota, which is valid for ttl.
//
// A quota above what the node holds comes out of what is left of the limit. A quota below is an
// order to use less, and counts only when the node has reported that it does. A ttl of 0 ends
// the node's quota; what it has used still counts for a window.
func (t *Table) Hold(now int64, h store.Holding, ttl time.Duration) int64 {
	t.forget(now)
	h.Held, h.Used = max(h.Held, 0), max(h.Used, 0)
	e := t.nodes[h.Node]
	if e == nil {
		e = &entry{}
		t.nodes[h.Node] = e
	}
	var quota int64
	switch {
	case ttl <= 0:
		ttl, h.Held = 0, 0
	case now < t.learn:
		quota = h.Held
	default:
		quota = min(t.target(now, h.Node), t.within(h.Node, e))
	}
	*e = entry{said: h, out: max(h.Held, h.Used, quota), quota: quota, units: t.units, until: now + int64(ttl)}
	return quota
}

// target returns a node's target. Targets that add up to more than the limit were set for a
// higher limit: each is scaled down, rounded up.
func (t *Table) target(now int64, node string) int64 {
	target := t.targets[node]
	if sum := t.aimed(now, node); sum > t.units {
		return int64(math.Ceil(float64(target) * float64(t.units) / float64(sum)))
	}
	return target
}

// aimed returns the sum of the targets of a node and of all others whose quota has not ended.
func (t *Table) aimed(now int64, node string) int64 {
	sum := t.targets[node]
	for name, e := range t.nodes { // a sum: order does not reach the output
		if name != node && now < e.until {
			sum += t.targets[name]
		}
	}
	return sum
}

// within returns the most that a node may have: what the others and the permits leave, or the
// quota that it has. Permits that are booked ahead were booked beside that quota, unless it is
// part of a limit that has been lowered since.
func (t *Table) within(node string, e *entry) int64 {
	room := t.units
	for name, other := range t.nodes { // a sum: order does not reach the output
		if name != node {
			room -= other.out
		}
	}
	var kept int64
	if e.units <= t.units {
		kept = min(e.quota, room)
	}
	return max(room-t.permits.peak(), kept, 0)
}

// Draw takes units for one use. The caller must use them no sooner than after from the answer,
// and no later than after and [store.DrawFor] from the call: then, however long the call takes,
// the use is within DrawFor of the permit's time on this table's clock. If ok is false nothing
// was taken.
//
// Permits come out of what is neither out nor meant for a node that has asked and will get it:
// otherwise a stream of permits would keep nodes from their targets for ever. First come, first
// served: no permit is earlier than one given before.
func (t *Table) Draw(now, units int64) (after time.Duration, ok bool) {
	t.forget(now)
	switch {
	case t.window == 0 || units > t.units:
		return askLatest, false
	case units <= 0:
		return 0, true
	case now < t.learn:
		return again(t.learn - now), false
	}
	at, ok := t.permits.earliest(now, units, t.units-t.promised(now))
	if !ok {
		return askLatest, false
	}
	if ahead := at - now - int64(store.DrawAhead); ahead > 0 {
		return again(ahead), false
	}
	t.permits.add(at, units)
	return time.Duration(at - now), true
}

// promised returns what nodes have out or will get as soon as they ask.
func (t *Table) promised(now int64) int64 {
	var sum int64
	for name, e := range t.nodes { // a sum: order does not reach the output
		if now < e.until {
			sum += max(e.out, t.target(now, name))
		} else {
			sum += e.out
		}
	}
	return sum
}

// Holdings returns the last reports of the nodes whose quota has not ended, by name.
func (t *Table) Holdings(now int64) []store.Holding {
	t.forget(now)
	var list []store.Holding
	for _, e := range t.nodes { // sorted below: order does not reach the output
		if now < e.until {
			list = append(list, e.said)
		}
	}
	slices.SortFunc(list, func(a, b store.Holding) int { return cmp.Compare(a.Node, b.Node) })
	return list
}

// SetTargets sets the most that each node gets from its next Hold on. A node without a target
// gets nothing. It returns [store.ErrStale] if a leader of a higher epoch has set targets.
func (t *Table) SetTargets(epoch uint64, targets map[string]int64) error {
	if epoch < t.epoch {
		return store.ErrStale
	}
	t.epoch = epoch
	clear(t.targets)
	for node, target := range targets { // order does not reach the output
		t.targets[node] = max(target, 0)
	}
	return nil
}

// forget drops what has left every window that ends now or later.
func (t *Table) forget(now int64) {
	for name, e := range t.nodes { // order does not reach the output
		if e.until+t.window <= now {
			delete(t.nodes, name)
		}
	}
	t.permits.forget(now)
}
