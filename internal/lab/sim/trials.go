package sim

import (
	"slices"

	"github.com/weirhq/weir/internal/core/block"
)

// mostDeaths is how many processes an item can end before it fails: one without
// a mark, one in a task, one in a task of suspects, one as a single item, two alone.
const mostDeaths = 6

// turns is an owner's way to the turns of its node.
type turns struct{ o *owner }

// Take implements partition.Trials.
func (x turns) Take() bool { return x.o.node.turns.Take(x.o) }

// Quiet implements partition.Trials.
func (x turns) Quiet() bool { return x.o.node.turns.Quiet(x.o) }

// Give implements partition.Trials.
func (x turns) Give() { x.o.node.turns.Give(x.o) }

// LookAgain has the loop turn.
func (o *owner) LookAgain() { o.put(func() {}) }

// hush has an owner start nothing while another's suspect runs alone on its node.
func (o *owner) hush() {
	quiet := o.node.turns.Hushed(o, o.running == 0)
	switch {
	case quiet:
		o.machine.Stop()
	case o.hushed && !o.stopped && !o.doubted:
		o.machine.Proceed()
	}
	o.hushed = quiet
}

// deadly reports whether a call ends the process that makes it.
func (c *call) deadly() bool {
	return slices.ContainsFunc(c.task.Items, func(i uint16) bool { return c.bulk.index(c.task.Block, i) == c.bulk.deadly })
}

// dies ends the node of a call. However the other nodes fail, an item ends no
// more than a few: unless its owner lived on without its partition, of which the next owner knows nothing.
func (w *World) dies(c *call) {
	b := c.bulk
	b.deaths++
	w.must(b.deaths <= mostDeaths+w.outlived, "P11", b, b.deadly, "%s item %d ended %d processes, at most %d allowed",
		b.spec.ID, b.deadly, b.deaths, mostDeaths+w.outlived)
	c.owner.node.crash(between(w.faults, 100*millis, 5*second))
}

// checkCrashed: nothing is failed for the death of a process but what ended it,
// unless processes died or lost their partitions for other reasons, too.
func (w *World) checkCrashed(b *truth, at int) {
	w.must(at == b.deadly || w.otherDeaths+w.outlived > 0, "P11", b, at,
		"%s item %d failed for the deaths that item %d caused", b.spec.ID, at, b.deadly)
	if at == b.deadly {
		w.met[PoisonContained]++
	}
}

// checkTrial: one suspect runs at a time on a node, and the one that is on its last trial runs alone.
func (w *World) checkTrial(c *call) {
	t, n := c.task, c.owner.node
	r := c.bulk.retry(t.Block, t.Items[0], t.StepNo)
	if r == nil || r.Crashes == 0 || w.outlived > 0 { // what outlived its partition may still run
		return
	}
	w.must(r.Started, "P11", c.bulk, -1, "a suspect of %s was started, and no commit says so", c.bulk.spec.ID)
	others := 0
	for _, o := range n.parts {
		if o != nil && o != c.owner && o.machine.Trying() {
			others++
		}
	}
	w.must(others == 0, "P11", c.bulk, -1, "a suspect of %s was started beside another", c.bulk.spec.ID)
	w.must(r.Crashes < lastTrial || n.running == 1, "P11", c.bulk, -1,
		"the last trial of an item of %s was started beside %d tasks", c.bulk.spec.ID, n.running-1)
	w.met[SuspectTried]++
}

// lastTrial is how many deaths an item is suspected of when it has to run alone.
const lastTrial = 3

// unseen lists the bulk actions that the owner hands over as the death before left them.
func (o *owner) unseen() (bulks []*truth) {
	for _, b := range o.w.bulks {
		lost := !o.inherited || slices.Contains(o.unjudged, b)
		if lost && o.node.steps(b.spec.Chain) == nil {
			bulks = append(bulks, b)
		}
	}
	return bulks
}

// checkBlame: nothing is suspected of a death unless the owner before was lost, or
// those since then did not know the action.
func (w *World) checkBlame(o *owner, b *truth, no uint32, item int, r *block.Retry) {
	if !o.inherited || r.Crashes == 0 || slices.Contains(o.unjudged, b) {
		return
	}
	old := b.retry(no, uint16(item), int(r.Step))
	w.must(old != nil && old.Crashes >= r.Crashes, "P11", b, b.index(no, uint16(item)),
		"%s item %d is suspected of %d deaths, and its last owner did not die",
		b.spec.ID, b.index(no, uint16(item)), r.Crashes)
}
