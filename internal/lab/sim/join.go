package sim

import (
	"fmt"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
)

// join has two unlisted bulk actions or more found by a joint filter, as the engine's keeper does of eight. One step at a
// time is under way. The pages of the filter are of no interest here.
func (o *owner) join() {
	if o.gone || o.stopped || o.joining {
		return
	}
	rows := o.w.rows(o.partition)
	list, err := partition.EntriesOf(rows, partition.UnlistedTerm(), partition.Span{}, partition.MostJoined)
	ids := make([]weir.BulkID, len(list))
	for i, e := range list {
		ids[i] = e.ID
	}
	if err == nil && len(ids) > 1 {
		var of []*partition.Created
		of, err = partition.ReadSpecs(rows, ids)
		if err == nil {
			o.joining = true
			o.machine.Remove((&partition.Joining{Of: of}).Done(partition.JointName(fmt.Sprint(o.id, "-", o.committed)), of))
		}
	}
	o.w.must(err == nil, "sim", nil, -1, "%v", err)
}
