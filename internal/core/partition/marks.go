package partition

import (
	"encoding/binary"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// Who adds up the failed items of all bulk actions reads only those that have changed since: a mark tells the last
// change for all bulk actions of a partition that were submitted within some hours. Marks stay when the bulk actions
// have gone: a few bytes for each of these spans. Those before the oldest bulk action with failed items are not read.

// sameStart is how much of their ids the bulk actions of a mark have in common: all but the last 25 bits of the time in
// milliseconds, which is nine hours.
const sameStart = len("ba_") + 5

// Mark tells when the failed items of bulk actions whose ids start alike have changed last.
type Mark struct {
	Start string // of the ids
	Last  string // another one after each change
}

func startOf(id weir.BulkID) string { return string(id[:min(sameStart, len(id))]) }

// noteFailing has the commit change the mark of a bulk action.
func (g *generation) noteFailing(id weir.BulkID) {
	if start := startOf(id); !slices.Contains(g.failing, start) {
		g.failing = append(g.failing, start)
	}
}

// writeMarks adds the marks. The time tells commits apart that have the same number, before and after a store lost some.
func (g *generation) writeMarks(now int64, b *store.Batch) {
	for _, start := range g.failing {
		last := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, b.Number), uint64(now))
		b.Set = append(b.Set, seal(append([]byte{kindMark}, start...), last))
	}
}

// Marks returns the marks of the bulk actions with failed items, oldest first.
func Marks(rows PagedRows) (list []Mark, err error) {
	oldest, err := rows.Page(store.Range{Prefix: []byte(FailedTerm())}, 1)
	if err != nil || len(oldest) == 0 {
		return nil, err
	}
	id, err := indexed(oldest[0].Key)
	if err != nil {
		return nil, err
	}
	// No key is between this one and that of the oldest mark.
	from := append([]byte{kindMark}, startOf(id)...)
	from[len(from)-1]--
	from = append(from, 0xff)
	for {
		page, err := rows.Page(store.Range{Prefix: []byte{kindMark}, After: from}, marksAtOnce)
		if err != nil {
			return nil, err
		}
		for _, r := range page {
			last, err := unseal(r.Key, r.Value)
			if err != nil {
				return nil, err
			}
			list = append(list, Mark{string(r.Key[1:]), string(last)})
			from = r.Key
		}
		if len(page) < marksAtOnce {
			return list, nil
		}
	}
}

const marksAtOnce = 256

// FailedOf returns the bulk actions of a mark with failed items, oldest first.
func FailedOf(rows Rows, m Mark) (ids []weir.BulkID, err error) {
	err = rows.Scan(append([]byte(FailedTerm()), m.Start...), func(key, _ []byte) error {
		id, err := indexed(key)
		ids = append(ids, id)
		return err
	})
	return ids, err
}
