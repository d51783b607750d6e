package sim

import (
	"maps"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/limit"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/lab/virtual"
	"github.com/weirhq/weir/store"
)

// ruleTruth is the rules of a bulk action after some of the changes.
type ruleTruth struct {
	tier        weir.Tier
	priority    int
	concurrency int
	rates       map[string]float64
	stopOn      weir.StopRule
}

func rulesOf(c *partition.Created) ruleTruth {
	return ruleTruth{c.Tier, c.Priority, c.Concurrency, c.Rates, c.StopOn}
}

// version returns the rules after the first k changes in the inbox.
func (b *truth) version(k int) *ruleTruth {
	if b.versions == nil {
		b.versions = []ruleTruth{rulesOf(&b.spec)}
	}
	for n := len(b.versions); n <= k; n++ {
		b.versions = append(b.versions, b.versions[n-1].changed(b.changes[n-1]))
	}
	return &b.versions[k]
}

func (t *ruleTruth) changed(r *weir.Rules) ruleTruth {
	u := *t
	if r.Tier != nil {
		u.tier = *r.Tier
	}
	if r.Priority != nil {
		u.priority = *r.Priority
	}
	if r.Concurrency != nil {
		u.concurrency = *r.Concurrency
	}
	if r.StopOn != nil {
		u.stopOn = *r.StopOn
	}
	u.rates = maps.Clone(u.rates)
	for step, rate := range r.Rates {
		if u.rates == nil {
			u.rates = map[string]float64{}
		}
		u.rates[step] = float64(rate)
	}
	maps.DeleteFunc(u.rates, func(_ string, rate float64) bool { return rate == 0 })
	return u
}

func (t *ruleTruth) equal(u *ruleTruth) bool {
	return t.tier == u.tier && t.priority == u.priority && t.concurrency == u.concurrency && t.stopOn == u.stopOn &&
		maps.Equal(t.rates, u.rates)
}

// oldest returns the number of the oldest change up to which the rules may be in effect in a
// partition.
func (b *truth) oldest() int {
	k := len(b.changes)
	for _, p := range b.places() {
		k = min(k, b.stored[p])
	}
	return k
}

// most returns the largest of what the rules say that may be in effect somewhere: from those in the
// rows of all partitions to the newest. 0: there may be no bound.
func (b *truth) most(of func(*ruleTruth) float64) (most float64) {
	for k := b.oldest(); k <= len(b.changes); k++ {
		x := of(b.version(k))
		if x == 0 {
			return 0
		}
		most = max(most, x)
	}
	return most
}

// boundTruth watches a bulk action's own bounds while the same rules may be in effect.
type boundTruth struct {
	oldest, newest int
	since          int64
	starts         map[int]*virtual.Meter // by step
}

// ownBounds returns what watches the bounds under the rules that may be in effect now.
func (w *World) ownBounds(b *truth) *boundTruth {
	oldest, newest := b.oldest(), len(b.changes)
	if x := b.bounds; x == nil || x.oldest != oldest || x.newest != newest {
		b.bounds = &boundTruth{oldest, newest, w.Now(), map[int]*virtual.Meter{}}
	}
	return b.bounds
}

// take counts items that start at a step, and returns how many started within the window that ends now.
func (x *boundTruth) take(now, window int64, step, items int) int64 {
	if x.starts[step] == nil {
		x.starts[step] = &virtual.Meter{}
	}
	x.starts[step].Window = window
	return x.starts[step].Add(now, int64(items))
}

// checkOwnLimits: no more tasks are in flight than the bulk action allows itself (I12), and
// in no window more items start than its own rate has room for (I11), in all partitions that share
// it together, whichever nodes own them. What was started under earlier rules does not count, nor
// does what former owners start.
func (w *World) checkOwnLimits(c *call) {
	t, b, p := c.task, c.bulk, c.owner.partition
	if c.owner.token != w.ledger.parts[p].newest {
		return
	}
	x := w.ownBounds(b)
	most := int(b.most(func(r *ruleTruth) float64 { return float64(r.concurrency) }))
	running := 0
	for other := range b.underWay { // a sum: the order does not reach it
		if other.began >= x.since && other.owner == w.ownerOf(other.owner.partition) {
			running++
		}
	}
	w.must(most == 0 || running <= most, "I12", b, -1, "%s: %d tasks in flight, at most %d allowed", b.spec.ID, running, most)
	if most > 0 && b.spec.Shared() && running == most {
		w.met[BoundShared]++
	}
	rate := b.most(func(r *ruleTruth) float64 { return r.rates[t.Step.Name] })
	if rate == 0 {
		return
	}
	quota, window := limit.PerWindow(rate)
	used := x.take(w.Now(), int64(window), t.StepNo, len(t.Items))
	w.must(used <= quota, "I11", b, -1, "%s step %d: %d items started within %v, its own rate is %v/s", b.spec.ID,
		t.StepNo, used, window, rate)
	if used > int64(len(t.Items)) {
		w.met[OwnRateKept]++
	}
}

// appliedSpec: a bulk action is created once; its spec is written again with newer rules alone.
func (w *World) appliedSpec(o *owner, b *truth, r store.Row) {
	var c partition.Created
	err := partition.UnsealJSON(r.Key, r.Value, &c)
	w.must(err == nil, "sim", b, -1, "%v", err)
	if b.specs[o.partition] {
		grown := o.partition == b.partition && len(c.Shards) > len(b.spec.Shards)
		w.must(int(c.Rules) > b.stored[o.partition] || grown, "I1", b, -1, "%s was created twice", b.spec.ID)
	}
	if o.partition == b.partition {
		w.checkShards(b, &c)
	}
	k := int(c.Rules)
	w.must(k <= len(b.changes), "I15", b, -1, "%s has %d changes of its rules, of which there were %d", b.spec.ID, k, len(b.changes))
	if k > 0 {
		got := rulesOf(&c)
		w.must(got.equal(b.version(k)), "I15", b, -1, "%s has the rules %+v after change %d, want %+v", b.spec.ID, got, k, *b.version(k))
	}
	if b.specs == nil {
		b.specs, b.stored = map[int]bool{}, map[int]int{}
	}
	b.specs[o.partition], b.stored[o.partition] = true, k
	if o.partition == b.partition {
		b.created = true
	}
}

// checkChanged: a change that is acknowledged is in the rows, unless the bulk action has ended.
func (w *World) checkChanged(b *truth) {
	b.changed++
	s := b.state()
	if s == weir.BulkCancelling || s.Final() {
		b.late = true
		return
	}
	w.must(b.stored[b.partition] >= b.changed, "I15", b, -1, "change %d of %s was acknowledged, and its rows have %d",
		b.changed, b.spec.ID, b.stored[b.partition])
	b.changedAt = w.Now()
	for _, p := range b.places() {
		if p != b.partition && w.ownerOf(p) == nil {
			w.met[ChangedShardAway]++
		}
	}
}

// checkRules: the rules at the end are those of the last change that was in time.
func (w *World) checkRules(b *truth, c *partition.Created) {
	k, got := int(c.Rules), rulesOf(c)
	w.must(k == b.changed || k <= b.changed && b.late, "I15", b, -1, "%s was changed %d times, and its rows have %d",
		b.spec.ID, b.changed, k)
	w.must(got.equal(b.version(k)), "I15", b, -1, "%s ends with the rules %+v, want %+v", b.spec.ID, got, *b.version(k))
}

// ownerOf returns the living holder of a partition's newest token; nil: it has none.
func (w *World) ownerOf(p int) *owner {
	for _, n := range w.nodes {
		if o := n.owner(p); o != nil && o.token == w.ledger.parts[p].newest {
			return o
		}
	}
	return nil
}

// heardAfter is within which time after the faults a shard has heard of new rules.
const heardAfter = 20 * second

// checkHeard: shards have the rules that their home has.
func (w *World) checkHeard(b *truth) {
	if !b.spec.Shared() || b.changed == 0 || b.late || b.state().Final() ||
		w.Now() < max(b.changedAt, epoch+w.plan.healAt)+heardAfter {
		return
	}
	for _, p := range b.places() {
		w.must(!b.specs[p] || b.stored[p] >= b.changed, "I15", b, -1,
			"%s was changed %d times, and partition %d has heard of %d", b.spec.ID, b.changed, p, b.stored[p])
	}
}
