package partition

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// A joint filter tells which of many bulk actions may have an item with some id, at the cost of one read for all. Its
// pages are blocks under a name of its own, written before the commit that makes them count. From that commit on its
// members have the term joined, whose row names the filter, instead of unlisted. A lookup asks the filters first of what is unlisted and
// then of what is joined, so that a bulk action that becomes a member meanwhile is not missed.

const (
	// MostJoined is the most members of a joint filter: a byte holds their number.
	MostJoined = 256
	// MostJointItems bounds the items of a joint filter, and so the memory that making one takes: 13 bytes for each.
	MostJointItems = 1 << 21
	// mostOfJoined is the most items of a member. The filters of larger bulk actions are asked one by one.
	mostOfJoined = MostJointItems / 8
	// leastJoined is how many unlisted bulk actions it takes for a new joint filter.
	leastJoined = 8
	// manySmall is how many small joint filters are made one, with what is unlisted.
	manySmall = 4
)

const jointPrefix = "jf_"

// JointName returns the name of a joint filter.
func JointName(unique string) weir.BulkID { return weir.BulkID(jointPrefix + unique) }

// JointOf returns the unique part of the name of a joint filter. Of any other name, ok is false.
func JointOf(name weir.BulkID) (unique string, ok bool) {
	return strings.CutPrefix(string(name), jointPrefix)
}

// Joint is a joint filter.
type Joint struct {
	Name      weir.BulkID `json:"-"`          // under which its pages are stored, from block 0
	Items     int         `json:"items"`      // of all members, which says how it is cut into pages
	Left      int         `json:"left"`       // members that were not removed
	LeftItems int         `json:"left_items"` // of these
}

// small reports whether it is worth while to make one filter of this and others.
func (j *Joint) small() bool { return j.Left < MostJoined/2 && j.LeftItems < MostJointItems/2 }

func jointKey(name weir.BulkID) []byte   { return rowKey(kindJoint, name) }
func membersKey(name weir.BulkID) []byte { return rowKey(kindMembers, name) }

// Joints returns the joint filters, oldest first.
func Joints(rows PagedRows) (list []Joint, err error) {
	const atOnce = 512
	for from := []byte(nil); ; {
		page, err := rows.Page(store.Range{Prefix: []byte{kindJoint}, After: from}, atOnce)
		if err != nil {
			return nil, err
		}
		for _, r := range page {
			j := Joint{Name: weir.BulkID(r.Key[1:])}
			if err := UnsealJSON(r.Key, r.Value, &j); err != nil {
				return nil, err
			}
			list, from = append(list, j), r.Key
		}
		if len(page) < atOnce {
			return list, nil
		}
	}
}

// Members returns the members of joint filters, in the order of their numbers, also those that were removed; nil: the
// filter is not there any more.
func Members(rows ManyRows, names []weir.BulkID) ([][]weir.BulkID, error) {
	list, keys := make([][]weir.BulkID, len(names)), make([][]byte, len(names))
	for i, name := range names {
		keys[i] = membersKey(name)
	}
	found, err := rows.GetMany(keys)
	for i, raw := range found {
		if raw != nil && err == nil {
			err = UnsealJSON(keys[i], raw, &list[i])
		}
	}
	return list, err
}

// Joining is what the next joint filter is made of.
type Joining struct {
	Of      []*Created // its members, with their blocks of those that are inline
	instead []Joint    // that are not needed any more
}

// NextJoint plans a joint filter of the oldest unlisted bulk actions, and of small filters if there are many; nil: there
// are not enough. So a bulk action is joined three or four times until its filter is not small.
func NextJoint(rows JointRows) (*Joining, error) {
	page, err := rows.Page(store.Range{Prefix: []byte(UnlistedTerm())}, MostJoined)
	if err != nil || len(page) < leastJoined {
		return nil, err
	}
	ids := make([]weir.BulkID, len(page))
	for i, r := range page {
		if ids[i], err = indexed(r.Key); err != nil {
			return nil, err
		}
	}
	j, items := &Joining{}, 0
	specs, err := ReadSpecs(rows, ids)
	for _, c := range specs {
		if c != nil && items+int(c.Items) <= MostJointItems {
			j.Of, items = append(j.Of, c), items+int(c.Items)
		}
	}
	if err == nil {
		err = j.addSmall(rows, items)
	}
	return j, err
}

// JointRows reads what joint filters are made of.
type JointRows interface {
	PagedRows
	ManyRows
}

// addSmall adds the members of small joint filters, the smallest first, as far as there is room.
func (j *Joining) addSmall(rows JointRows, items int) error {
	all, err := Joints(rows)
	all = slices.DeleteFunc(all, func(x Joint) bool { return !x.small() })
	if err != nil || len(all) < manySmall {
		return err
	}
	slices.SortStableFunc(all, func(a, b Joint) int { return cmp.Compare(a.Left, b.Left) })
	for _, x := range all {
		if len(j.Of)+x.Left > MostJoined || items+x.LeftItems > MostJointItems {
			continue
		}
		ids, err := Members(rows, []weir.BulkID{x.Name})
		if err != nil {
			return err
		}
		specs, err := ReadSpecs(rows, ids[0])
		if err != nil {
			return err
		}
		for _, c := range specs {
			if c != nil { // else it was removed
				j.Of = append(j.Of, c)
			}
		}
		j.instead, items = append(j.instead, x), items+x.LeftItems
	}
	return nil
}

// Enough reports whether the members that could be read are worth a filter.
func (j *Joining) Enough(members []*Created) bool { return len(members) >= leastJoined }

// Done returns the step that makes a joint filter count, whose pages are stored: of those members whose items could be read.
// The others are unlisted. Dropped of it are the filters that it replaces.
func (j *Joining) Done(name weir.BulkID, members []*Created) *Removal {
	made, ids := Joint{Name: name, Left: len(members)}, make([]weir.BulkID, len(members))
	r := &Removal{ID: name, Last: true}
	for i, c := range members {
		made.Items, ids[i] = made.Items+int(c.Items), c.ID
		r.set = append(r.set, seal(termKey(JoinedTerm(), c.ID), []byte(name)))
		r.delete = append(r.delete, termKey(UnlistedTerm(), c.ID))
	}
	for _, c := range j.Of {
		if !slices.Contains(members, c) {
			r.set = append(r.set, store.Row{Key: termKey(UnlistedTerm(), c.ID)})
			r.delete = append(r.delete, termKey(JoinedTerm(), c.ID))
		}
	}
	for _, x := range j.instead {
		r.drop(x.Name)
	}
	made.LeftItems = made.Items
	r.set = append(r.set, SealJSON(jointKey(name), &made), SealJSON(membersKey(name), ids))
	return r
}

// drop removes a joint filter.
func (r *Removal) drop(name weir.BulkID) {
	r.delete = append(r.delete, jointKey(name), membersKey(name))
	r.Dropped = append(r.Dropped, name)
}

// leaveJoint takes a bulk action out of its joint filter, if it has one. The last member takes the filter along.
func (r *Removal) leaveJoint(rows Rows, c *Created) error {
	key := termKey(JoinedTerm(), c.ID)
	row, err := rows.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	name, err := unseal(key, row)
	if err != nil {
		return err
	}
	j := Joint{Name: weir.BulkID(name)}
	if err := readJSON(rows, jointKey(j.Name), &j); err != nil {
		return err
	}
	r.delete = append(r.delete, key)
	j.Left, j.LeftItems = j.Left-1, j.LeftItems-int(c.Items)
	if j.Left == 0 {
		r.drop(j.Name)
	} else {
		r.set = append(r.set, SealJSON(jointKey(j.Name), &j))
	}
	return nil
}

// UnknownJoints returns those of the names of joint filters that there are not, or not any more.
func UnknownJoints(rows ManyRows, names []weir.BulkID) ([]weir.BulkID, error) {
	keys := make([][]byte, len(names))
	for i, name := range names {
		keys[i] = jointKey(name)
	}
	found, err := rows.GetMany(keys)
	if err != nil {
		return nil, err
	}
	var list []weir.BulkID
	for i, row := range found {
		if row == nil {
			list = append(list, names[i])
		}
	}
	return list, nil
}
