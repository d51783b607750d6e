package partition

import (
	"encoding/binary"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/fault"
	"github.com/weirhq/weir/store"
)

func groupKey(id weir.BulkID, no int) []byte {
	return binary.BigEndian.AppendUint16(rowKey(kindGroup, id), uint16(no))
}

// countFailures counts the failures among the results that the commit being cut carries. A
// result that no commit carries was not counted, so a takeover counts no failure twice.
func (l *live) countFailures(now int64) {
	for i := range l.results {
		r := &l.results[i]
		if r.Kind != block.Failure {
			continue
		}
		if l.bulk.groups == nil {
			l.bulk.groups = &fault.Groups{}
		}
		l.bulk.groups.Add(now, int(r.Step), r.Code, r.Message, l.base+int64(r.Item))
	}
}

// writeGroups adds the groups of failures that have changed.
func (b *bulk) writeGroups(batch *store.Batch) {
	if b.groups == nil {
		return
	}
	b.groups.Changed(func(no int, g *fault.Group) {
		batch.Set = append(batch.Set, SealJSON(groupKey(b.spec.ID, no), g))
	})
}

// ReadGroups returns the failures of a bulk action that this partition has worked on, by group.
func ReadGroups(rows Rows, id weir.BulkID) (list []fault.Group, err error) {
	err = rows.Scan(rowKey(kindGroup, id), func(key, row []byte) error {
		var g fault.Group
		err := UnsealJSON(key, row, &g)
		list = append(list, g)
		return err
	})
	return list, err
}

// loadGroups restores the counts of a loaded bulk action.
func (b *bulk) loadGroups(rows Rows) error {
	list, err := ReadGroups(rows, b.spec.ID)
	if len(list) > 0 {
		b.groups = fault.Restore(list)
	}
	return err
}
