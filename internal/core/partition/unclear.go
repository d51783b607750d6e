package partition

import "github.com/weirhq/weir/internal/core/block"

// An item is unclear if it was called and no answer said what became of it: the call timed out or was cut off, or the
// process died that may have made it. The service may have done it. Mostly another attempt makes it clear. If the bulk
// action is cancelled before that, reports have to say so: the row of the block keeps the unclear items.

// unclear records that an item was called, or may have been, without a clear answer.
func (l *live) unclear(no int, item uint16) {
	if !l.state.Unclear.Has(int(item)) {
		l.state.Unclear.Add(int(item))
		l.bulk.status.Steps[no].Unclear++
	}
}

// clarified records that an answer says what became of an item.
func (l *live) clarified(no int, item uint16) {
	if l.state.Unclear.Has(int(item)) {
		l.state.Unclear.Remove(int(item))
		l.bulk.status.Steps[no].Unclear--
	}
}

// doubtRisk records that the items of a task that were at risk may have been called before it. Answers of this task
// make them clear.
func (t *Task) doubtRisk() {
	if t.l.risk == nil {
		return
	}
	for _, item := range t.Items {
		if t.l.risk.Has(int(item)) {
			t.l.unclear(t.at.no, item)
		}
	}
}

// doubtRisk records that the items at risk of a bulk action that is cancelled may have been called: they will not be
// tried again. Blocks without a row that an earlier owner may have opened get one.
func (m *Machine) doubtRisk(b *bulk) {
	if b.steps == nil || b.status.Started == 0 {
		return // nothing of it can be known, or it never started
	}
	for b.risk > 0 && b.unopened() > 0 {
		m.open(b)
	}
	for _, l := range b.endangered {
		if l.risk == nil {
			continue
		}
		l.risk.Each(func(item int) {
			if no, over := l.standing(item); !over {
				l.unclear(no, uint16(item))
			}
		})
		m.dirty(l)
	}
}

// doubtful returns how many items doubtRisk would call unclear now, beyond those that are.
func (b *bulk) doubtful() (n int64) {
	if b.steps == nil || b.status.Started == 0 || b.stopping() || b.risk <= 0 && b.risky == 0 {
		return 0
	}
	for _, l := range b.endangered {
		if l.risk == nil {
			continue
		}
		l.risk.Each(func(item int) {
			if _, over := l.standing(item); !over && !l.state.Unclear.Has(item) {
				n++
			}
		})
	}
	unopened, opens := max(b.unopened(), 0), int64(0)
	if size := int64(block.Size); unopened > 0 {
		if b.shard == nil {
			size = int64(b.spec.BlockSize(b.cursor))
		}
		for rest := b.risk; rest > 0 && opens < unopened; rest -= size { // whole blocks, as they are opened
			opens += size
		}
	}
	return n + min(opens, unopened)
}

// atRisk is doubtful over all shards.
func (b *bulk) atRisk() int64 {
	n := b.doubtful()
	if b.atHome() && !b.stopping() {
		for i := range b.shard.home.tallies {
			n += b.shard.home.tallies[i].AtRisk
		}
	}
	return n
}

// standing returns the step that an item has come to, and whether it has ended.
func (l *live) standing(item int) (no int, over bool) {
	for no < len(l.steps) && l.state.Passed[no].Has(item) {
		no++
	}
	return no, no == len(l.steps) || l.state.Failed.Has(item) || l.state.LeftOut.Has(item)
}
