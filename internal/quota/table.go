package quota

import (
	"cmp"
	"slices"
	"time"

	"github.com/weirhq/weir/store"
)

// Table is the books of one limit. [New] makes one.
//
// A node's name is for one life: one that starts again has forgotten what it
// used in the last window, and must not speak for its former self.
type Table struct {
	units   int64
	window  int64
	nodes   map[string]*entry
	targets map[string]int64
	epoch   uint64 // of the leader that set the targets
	permits permits
	learn   int64 // until then nothing new is given away
}

// entry is one node.
type entry struct {
	said  store.Holding
	out   int64 // the most that any window from now on can hold of it
	until int64 // when its quota ends, unless it asks again
}

// New returns empty books.
func New(l store.Limit) *Table {
	return &Table{
		units: l.Units, window: int64(l.Window),
		nodes: map[string]*entry{}, targets: map[string]int64{},
		permits: newPermits(l.Window),
	}
}

// SetUnits changes the limit. If it is lower, what is out already stays out
// until the nodes ask again or the permits have left the window.
func (t *Table) SetUnits(units int64) { t.units = units }

// Learn makes the table give nothing new before until: it may have forgotten
// what it gave away. Until then nodes keep what they say they hold, and permits
// are refused.
func (t *Table) Learn(until int64) { t.learn = max(t.learn, until) }

// Hold takes down what a node says and returns its quota, which is good for ttl.
//
// A quota above what the node holds comes out of what is left over; one below is
// an order to use less, and counts only when the node has said that it does. A ttl of 0
// ends the node's quota; what it has used still counts for a window.
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
		quota = min(t.targets[h.Node], t.within(h.Node, e.out))
	}
	*e = entry{said: h, out: max(h.Held, h.Used, quota), until: now + int64(ttl)}
	return quota
}

// within is the most that a node may have: what the others and the permits
// leave, or what it has out, which is nobody else's in any case.
func (t *Table) within(node string, out int64) int64 {
	room := t.units - t.permits.peak()
	for name, e := range t.nodes { // a sum: order does not reach the output
		if name != node {
			room -= e.out
		}
	}
	return max(room, out, 0)
}

// Draw takes units for one use. The use is to be no sooner than after from the
// answer, and no later than after and [store.DrawFor] from the question: then,
// however long question and answer take, it is within DrawFor of the permit's
// time on this table's clock. If ok is false nothing was taken.
//
// Permits come out of what is neither out nor meant for a node that has asked
// and will get it: else a stream of permits would keep nodes from their targets for ever.
// First come, first served: none is before one that was given earlier.
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

// promised is what nodes have out or will get as soon as they ask.
func (t *Table) promised(now int64) int64 {
	var sum int64
	for name, e := range t.nodes { // a sum: order does not reach the output
		if now < e.until {
			sum += max(e.out, t.targets[name])
		} else {
			sum += e.out
		}
	}
	return sum
}

// Holdings lists what the nodes said last whose quota has not ended, by name.
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

// SetTargets sets the most that each node gets from its next Hold on; one that is
// not named gets nothing. It returns [store.ErrStale] if a leader of a higher epoch has set some.
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
