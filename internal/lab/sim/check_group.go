package sim

import (
	"encoding/json"
	"fmt"

	"github.com/weirhq/weir/store"
)

// appliedGroup: failures of a group are counted on, never from nothing.
func (w *World) appliedGroup(o *owner, b *truth, r store.Row) {
	var g struct{ Count int64 }
	err := json.Unmarshal(r.Value[:len(r.Value)-sum], &g)
	w.must(err == nil, "sim", b, -1, "%v", err)
	if b.groups == nil {
		b.groups = map[string]int64{}
	}
	key := fmt.Sprintf("%d %x", o.partition, r.Key[1+idLen:])
	old := b.groups[key]
	w.must(g.Count >= old, "I5", b, -1, "%s: a group of %d failures has %d now", b.spec.ID, old, g.Count)
	b.groups[key] = g.Count
	b.grouped += g.Count - old
}

// checkGroups: the groups of a bulk action add up to what failed, in every commit.
func (w *World) checkGroups(b *truth) {
	w.must(b.grouped == b.failed, "I5", b, -1, "%s: %d failures in all groups together, its rows have %d", b.spec.ID,
		b.grouped, b.failed)
}
