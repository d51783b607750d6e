package sim

import (
	"slices"

	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/lab/virtual"
	"github.com/weirhq/weir/store"
)

// posted marks a message from one partition to another in the ledger.
const posted partition.Verb = "posted"

// share has several partitions work on some bulk actions, from the start or once they have run for
// a while. Blocks are tiny: only a bulk action of many blocks has ranges to hand out.
func (w *World) share(b *truth) {
	r := virtual.Named(w.seed, "shards", b.no)
	n := min(w.plan.partitions, 2+r.IntN(3))
	if b.spec.Concurrency > 0 {
		n = min(n, b.spec.Concurrency) // as the engine does
	}
	atOnce := n >= 2 && len(b.items) >= 30 && chance(r, 0.5)
	if !atOnce && (len(b.items) < 8 || b.spec.Inline || !chance(r, 0.7)) {
		return
	}
	b.spec.Sizes = nil
	for left := len(b.items); left > 0; {
		size := min(left, 1+r.IntN(2))
		b.spec.Sizes = append(b.spec.Sizes, uint16(size))
		left -= size
	}
	if atOnce {
		shards := []int{b.partition}
		for _, p := range r.Perm(w.plan.partitions) {
			if p != b.partition && len(shards) < n {
				shards = append(shards, p)
			}
		}
		b.spec.Share(shards)
		b.spec.Range = uint32(r.IntN(4))
	}
	*b = *newTruth(b.no, b.partition, b.spec, b.steps)
	b.place = make([]int, len(b.spec.Sizes))
}

// worksIn reports whether a partition has a part in the bulk action.
func (b *truth) worksIn(p int) bool { return p == b.partition || slices.Contains(b.spec.Shards, p) }

// places returns the partitions that may have rows of it.
func (b *truth) places() []int {
	if b.spec.Shared() {
		return b.spec.Shards
	}
	return []int{b.partition}
}

// surveyEvery is about how often an owner is told which nodes there are.
const surveyEvery = 500 * millis

// survey tells the machine again and again which node runs which partition.
func (o *owner) survey() {
	o.node.after(between(o.node.random, surveyEvery/2, 2*surveyEvery), func() {
		if o.gone {
			return
		}
		o.put(func() { o.machine.Reach(o.w.Now(), partition.Reach{Self: o.partition, Nodes: o.w.runners()}) })
		o.survey()
	})
}

// runners returns the number of the node that runs each partition.
func (w *World) runners() []int {
	runs := slices.Repeat([]int{partition.NoNode}, w.plan.partitions)
	for p := range runs {
		if o := w.ownerOf(p); o != nil {
			runs[p] = o.node.no
		}
	}
	return runs
}

// checkShards: shards are added to a bulk action that runs, and none is taken away.
func (w *World) checkShards(b *truth, c *partition.Created) {
	if !c.Shared() {
		return
	}
	n := len(b.spec.Shards)
	w.must(len(c.Shards) >= n && slices.Equal(c.Shards[:n], b.spec.Shards) && c.Shards[0] == b.partition, "I1", b, -1,
		"the shards of %s became %v after %v", b.spec.ID, c.Shards, b.spec.Shards)
	if len(c.Shards) == n {
		return
	}
	w.must(b.spec.Canary == nil || b.phase == wholeRuns, "P6", b, -1, "%s is shared before the rest after its canary may run", b.spec.ID)
	w.met[SharedLater]++
	b.spec.Shards, b.spec.Range = c.Shards, c.Range
}

// post takes a message to another partition's inbox, and tries again until there
// is an answer, as long as its owner lives.
func (o *owner) post(m partition.Outgoing) {
	w := o.w
	o.node.after(w.ledger.delay(w), func() {
		if o.gone {
			return
		}
		if w.appendTo(m.Partition, inboxed{bulk: w.byID[m.Bulk], verb: posted}, m.Body, store.Claim{}) != nil {
			o.node.after(retryEvery, func() { o.post(m) })
		}
	})
}

// checkPlace: a block is one partition's for ever.
func (w *World) checkPlace(o *owner, b *truth, no uint32) {
	if b.place == nil {
		return
	}
	w.must(b.place[no] == 0 || b.place[no] == o.partition+1, "I1", b, -1, "%s block %d has rows in partitions %d and %d",
		b.spec.ID, no, b.place[no]-1, o.partition)
	b.place[no] = o.partition + 1
}
