package sim

import (
	"slices"

	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/lab/virtual"
	"github.com/weirhq/weir/store"
)

// posted marks a message from one partition to another in the ledger.
const posted partition.Verb = "posted"

// share has several partitions work on some bulk actions. Blocks are tiny: only a
// bulk action of many blocks has ranges to hand out.
func (w *World) share(b *truth) {
	r := virtual.Named(w.seed, "shards", b.no)
	n := min(w.plan.partitions, 2+r.IntN(3))
	if b.spec.Concurrency > 0 {
		n = min(n, b.spec.Concurrency) // as the engine does
	}
	if n < 2 || len(b.items) < 30 || !chance(r, 0.5) {
		return
	}
	b.spec.Sizes = nil
	for left := len(b.items); left > 0; {
		size := min(left, 1+r.IntN(2))
		b.spec.Sizes = append(b.spec.Sizes, uint16(size))
		left -= size
	}
	b.spec.Shards = []int{b.partition}
	for _, p := range r.Perm(w.plan.partitions) {
		if p != b.partition && len(b.spec.Shards) < n {
			b.spec.Shards = append(b.spec.Shards, p)
		}
	}
	*b = *newTruth(b.no, b.partition, b.spec, b.steps)
	b.place = make([]int, len(b.spec.Sizes))
}

// worksIn reports whether a partition has a part in the bulk action.
func (b *truth) worksIn(p int) bool { return p == b.partition || slices.Contains(b.spec.Shards, p) }

// shardOf returns which of the shards a partition is.
func (b *truth) shardOf(p int) int { return max(0, slices.Index(b.spec.Shards, p)) }

// places returns the partitions that may have rows of it.
func (b *truth) places() []int {
	if b.spec.Shared() {
		return b.spec.Shards
	}
	return []int{b.partition}
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
