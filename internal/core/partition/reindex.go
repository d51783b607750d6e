package partition

import (
	"errors"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// The index follows from specs and states, so a store whose index is of an earlier format gets a new one: [OldIndex] until
// nothing is left, and then [NewIndex] over all bulk actions. No owner may run meanwhile.

// indexKinds lists the kinds of row of the index, joint filters included: their pages are garbage when no row names them.
var indexKinds = [...]byte{kindTerm, kindItem, kindDue, kindJoint, kindMembers}

// OldIndex returns the keys of up to limit rows of the index, of any format; none: it is empty.
func OldIndex(rows PagedRows, limit int) (keys [][]byte, err error) {
	for _, kind := range indexKinds {
		page, err := rows.Page(store.Range{Prefix: []byte{kind}}, limit-len(keys))
		if err != nil {
			return nil, err
		}
		for _, r := range page {
			keys = append(keys, r.Key)
		}
		if len(keys) == limit {
			break
		}
	}
	return keys, nil
}

// NewIndex returns the rows of the index of up to limit bulk actions and shards, from the one after an id, and where to go
// on; "": all were read.
func NewIndex(rows PagedRows, after weir.BulkID, limit int) (index []store.Row, next weir.BulkID, err error) {
	ids, next, err := oldestAfter(rows, kindSpec, after, limit, func(weir.BulkID) bool { return false })
	if err != nil {
		return nil, "", err
	}
	all, err := ReadAll(rows, ids)
	if err != nil {
		return nil, "", err
	}
	for _, x := range slices.DeleteFunc(all, func(x *Stored) bool { return x == nil }) {
		away, err := isAway(rows, x.Spec)
		if err != nil {
			return nil, "", err
		}
		if !away {
			index = append(index, IndexRows(x.Spec, x.Status)...)
		} else if key := removalKey(x.Spec, x.Status); key != nil {
			index = append(index, store.Row{Key: key})
		}
	}
	return index, next, nil
}

// isAway reports whether the partition has a part in a bulk action and is not its home.
func isAway(rows Rows, c *Created) (bool, error) {
	if !c.Shared() {
		return false, nil
	}
	_, err := rows.Get(shardKey(c.ID))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
