package result

import (
	"cmp"
	"slices"
	"strings"
	"unique"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
)

// sums adds up groups of many bulk actions by kind.
type sums map[unique.Handle[kind]]*sum

type sum struct {
	api.DLQGroup
	newest weir.BulkID // that the example is of
}

// add adds the groups of a bulk action that have items left and that want lets through.
func (s sums) add(f *failures, all noted, want func(unique.Handle[kind]) bool) {
	if !slices.ContainsFunc(f.kinds, want) {
		return
	}
	groups, kinds := f.left(all)
	for n := range groups {
		if groups[n].Count > 0 && want(kinds[n]) {
			s.merge(kinds[n], &sum{api.DLQGroup{ErrorGroup: groups[n], BulkActions: 1, Tenant: f.tenant}, f.id})
		}
	}
}

// merge adds a sum.
func (s sums) merge(h unique.Handle[kind], more *sum) {
	have := s[h]
	if have == nil {
		s[h] = more
		return
	}
	have.BulkActions += more.BulkActions
	addGroup(&have.ErrorGroup, &more.ErrorGroup)
	if more.newest > have.newest {
		have.newest, have.Example, have.Sample = more.newest, more.Example, more.Sample
	}
}

// largest compares groups, the largest first.
func largest(a, b *api.DLQGroup) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Step, b.Step),
		strings.Compare(a.Code, b.Code), strings.Compare(a.Message, b.Message))
}

// put puts a group into a list of the largest.
func put(list []*api.DLQGroup, g *api.DLQGroup, limit int) []*api.DLQGroup {
	if len(list) == limit && (limit == 0 || largest(list[limit-1], g) <= 0) {
		return list
	}
	at, _ := slices.BinarySearchFunc(list, g, largest)
	return slices.Insert(list[:min(len(list), max(limit-1, 0))], at, g)
}

// changes are what a look has found to be different in what is known.
type changes struct {
	any     bool
	added   []*failures
	spoiled map[unique.Handle[kind]]bool // kinds of which something was taken away
}

// replace notes that some bulk actions are known in place of others.
func (c *changes) replace(was, now map[weir.BulkID]*failures) {
	for id, f := range was {
		if now[id] != f {
			c.any = true
			c.spoil(f)
		}
	}
	for id, f := range now {
		if was[id] != f {
			c.any = true
			c.added = append(c.added, f)
		}
	}
}

// spoil has the kinds of a bulk action be added up again.
func (c *changes) spoil(f *failures) {
	if f == nil || !f.ended {
		return // those that have not ended are not in the sums
	}
	if c.spoiled == nil {
		c.spoiled = map[unique.Handle[kind]]bool{}
	}
	for _, h := range f.kinds {
		c.spoiled[h] = true
	}
}

// settle brings the order and the sums in line with what has changed.
func (k *known) settle(c *changes) {
	if c.any {
		k.newest, k.open = make([]*failures, 0, k.lots), nil
		for _, p := range k.parts {
			for _, f := range p.lots {
				if k.newest = append(k.newest, f); !f.ended {
					k.open = append(k.open, f)
				}
			}
		}
		slices.SortFunc(k.newest, func(a, b *failures) int { return strings.Compare(string(b.id), string(a.id)) })
	}
	if k.sums == nil {
		k.sums = sums{}
	}
	for _, f := range c.added {
		if f.ended {
			k.sums.add(f, k.noted, func(h unique.Handle[kind]) bool { return !c.spoiled[h] })
		}
	}
	if len(c.spoiled) == 0 {
		return
	}
	for h := range c.spoiled {
		delete(k.sums, h)
	}
	for _, f := range k.newest {
		if f.ended {
			k.sums.add(f, k.noted, func(h unique.Handle[kind]) bool { return c.spoiled[h] })
		}
	}
}
