package readback

import (
	"context"
	"errors"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
)

const (
	leastEntries = 4   // that are read of the index at a time
	mostEntries  = 512 // that are read of it at a time
)

// listing is the part of one partition in a list.
type listing struct {
	from   *Reader
	no     int
	groups []group
	keep   func(tenant, name string) bool
	driver int // the group whose entries are read; those of the others are looked up
	size   int // entries that are read next

	span   partition.Span // that was not looked at
	over   bool           // nothing is left to read
	found  []weir.BulkID
	unread map[weir.BulkID]*partition.Created // messages that the owner has not read, newest first in found
}

// begin looks at the messages that the owner has not read, before the rows: what is read meanwhile is found there.
func (l *listing) begin(ctx context.Context, f *Filter) error {
	l.unread = map[weir.BulkID]*partition.Created{}
	err := stored.EachMessage(ctx, l.no, l.from.store.Peek, func(m partition.Content) bool {
		if c := m.Created; c != nil && f.Has(c.ID) && f.meansUnread(c) {
			l.unread[c.ID] = c
		}
		return true
	})
	if err == nil && len(l.groups) > 1 {
		err = l.choose(ctx)
	}
	if err == nil {
		_, err = l.more(ctx)
	}
	return err
}

// meansUnread reports whether the filter may select a bulk action that its owner has not read. Its state is not known.
func (f *Filter) meansUnread(c *partition.Created) bool {
	has := map[partition.Term]bool{}
	for _, t := range c.FixedTerms() {
		has[t] = true
	}
	if keep := f.keep(); keep != nil && !keep(c.Tenant, c.Name) {
		return false
	}
	g := *f
	g.States, g.Name, g.Sees = nil, "", nil
	for _, group := range g.groups() {
		if !slices.ContainsFunc(group.terms, func(t partition.Term) bool { return has[t] }) {
			return false
		}
	}
	return true
}

// choose reads the first entries of each group, and goes by the one of which there are fewest.
func (l *listing) choose(ctx context.Context) error {
	rows := stored.At(ctx, l.from.store, l.no)
	furthest := weir.BulkID("~")
	for i := range l.groups {
		list, whole, err := l.entries(rows, i)
		if err != nil {
			return err
		}
		at := weir.BulkID("")
		if !whole {
			at = list[len(list)-1].ID
		}
		if at < furthest {
			l.driver, furthest = i, at
		}
	}
	return nil
}

// entries reads the next entries of a group, and reports whether there are no more.
func (l *listing) entries(rows stored.Rows, group int) (list []partition.Entry, whole bool, err error) {
	if len(l.groups) == 0 {
		list, err = partition.NewestOf(rows, l.span, l.size)
		return list, len(list) < l.size, err
	}
	cut := weir.BulkID("") // no entry beyond it was read of all terms
	for _, t := range l.groups[group].terms {
		some, err := partition.EntriesOf(rows, t, l.span, l.size)
		if err != nil {
			return nil, false, err
		}
		if len(some) == l.size {
			cut = max(cut, some[len(some)-1].ID)
		}
		list = append(list, some...)
	}
	slices.SortFunc(list, func(a, b partition.Entry) int { return newestFirst(a.ID, b.ID) })
	list = slices.CompactFunc(list, func(a, b partition.Entry) bool { return a.ID == b.ID })
	list = slices.DeleteFunc(list, func(e partition.Entry) bool { return e.ID < cut })
	return list, cut == "", nil
}

// more reads the next entries, keeps those that have all terms, and returns how many it has looked at.
func (l *listing) more(ctx context.Context) (n int, err error) {
	rows := stored.At(ctx, l.from.store, l.no)
	list, whole, err := l.entries(rows, l.driver)
	if err != nil {
		return 0, err
	}
	n = len(list)
	until := weir.BulkID("")
	if !whole {
		until = list[n-1].ID
	}
	if list, err = l.haveAll(rows, list); err != nil {
		return n, err
	}
	for _, e := range list {
		home, err := stored.Home(e.ID, l.from.Partitions())
		shard := err != nil || home != l.no // of one that is listed with its home
		if _, again := l.unread[e.ID]; again || shard || l.keep != nil && e.Tenant != "" && !l.keep(e.Tenant, e.Name) {
			continue
		}
		l.found = append(l.found, e.ID)
	}
	for id := range l.unread {
		if id >= until && l.span.Has(id) {
			l.found = append(l.found, id)
		}
	}
	slices.SortFunc(l.found, newestFirst)
	l.span.Before, l.over, l.size = until, whole, min(2*l.size, mostEntries)
	return n, nil
}

// haveAll returns those of the entries that have a term of each group besides the one that they were read of.
func (l *listing) haveAll(rows stored.Rows, list []partition.Entry) (_ []partition.Entry, err error) {
	told := len(l.groups) > 0 && l.groups[l.driver].tells
	for i, g := range l.groups {
		if i == l.driver || g.ofName && told || err != nil || len(list) == 0 {
			continue
		}
		list, err = partition.HaveAny(rows, list, g.terms)
		told = told || g.tells
	}
	return list, err
}

// bulks reads bulk actions that were found; nil: it was removed, or is not to be kept.
func (l *listing) bulks(ctx context.Context, ids []weir.BulkID) ([]*Bulk, error) {
	all, err := partition.ReadAll(stored.At(ctx, l.from.store, l.no), ids)
	if err != nil {
		return nil, err
	}
	list := make([]*Bulk, len(ids))
	for i, s := range all {
		var b *Bulk
		switch {
		case s != nil:
			b = &Bulk{from: l.from, id: ids[i], Home: l.no, Spec: s.Spec, Status: s.Status}
		case l.unread[ids[i]] != nil: // the owner may have read it meanwhile
			b, err = l.from.Get(ctx, ids[i])
			if errors.Is(err, weir.ErrNotFound) || errors.Is(err, weir.ErrExpired) {
				b, err = nil, nil
			}
			if err != nil {
				return nil, err
			}
		}
		if b != nil && (l.keep == nil || l.keep(b.Spec.Tenant, b.Spec.Name)) {
			list[i] = b
		}
	}
	return list, nil
}
