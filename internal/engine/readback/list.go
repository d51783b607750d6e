package readback

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
	"golang.org/x/sync/errgroup"
)

// Filter selects bulk actions. The zero value selects all.
type Filter struct {
	Tenants []string         // of one of these
	States  []weir.BulkState // in one of these
	Terms   []string         // submitted with all of these; see Ticket.Terms
	RetryOf weir.BulkID      // that retry this one
	Failed  bool             // with failed items
	// Item is the hash of an item's id: of bulk actions that may have it, other than by a joint filter. 0: of all.
	Item uint64
	Name string // with a name that a search for this matches
	// Sees leaves out bulk actions by tenant; nil: none.
	Sees func(tenant string) bool
	// Span leaves out bulk actions by their ids. Where a page ended, another goes on before that.
	partition.Span
}

// lookAhead bounds how many entries of the index a page looks at beyond those that it shows, over all partitions.
const lookAhead = 20_000

// readCost is how many entries count as much as a bulk action that is read and not shown.
const readCost = 20

// newestFirst compares ids, which are in the order of time.
func newestFirst(a, b weir.BulkID) int { return strings.Compare(string(b), string(a)) }

// Page returns bulk actions, the newest first, and where the next page begins, or "" after the last. It costs what it
// shows: a page that looked at too many that it does not show ends early, with fewer bulk actions than the limit.
func (r *Reader) Page(ctx context.Context, f Filter, limit int) (list []*Bulk, next weir.BulkID, err error) {
	m, err := r.merge(ctx, f, limit)
	if err != nil {
		return nil, "", err
	}
	for len(list) <= limit {
		found, err := m.some(ctx, limit+1-len(list))
		if err != nil {
			return nil, "", err
		}
		if len(found) == 0 {
			return list, m.rest, nil
		}
		for _, b := range found {
			if b == nil || b.Status != nil && len(f.States) > 0 && !slices.Contains(f.States, b.Status.State) {
				m.left = max(0, m.left-readCost)
				continue
			}
			list = append(list, b)
		}
	}
	return list[:limit], list[limit-1].id, nil
}

// Found lists the ids of all bulk actions that a filter selects, the newest first. One that was removed a moment ago
// may be among them.
func (r *Reader) Found(ctx context.Context, f Filter) (ids []weir.BulkID, err error) {
	m, err := r.merge(ctx, f, mostEntries)
	if err != nil {
		return nil, err
	}
	m.left = -1
	for {
		id, err := m.next(ctx)
		if err != nil || id == "" {
			return ids, err
		}
		ids = append(ids, id)
	}
}

// merged yields the ids that the partitions found, the newest first.
type merged struct {
	from  *Reader
	parts []*listing
	left  int         // entries that may be looked at; below 0: any number
	rest  weir.BulkID // where the look ended, if it ended early
	last  weir.BulkID // that was returned
}

func (r *Reader) merge(ctx context.Context, f Filter, limit int) (*merged, error) {
	m := &merged{from: r, left: r.ahead}
	groups, keep := f.groups(), f.keep()
	for p := range r.Partitions() {
		m.parts = append(m.parts, &listing{
			from: r, no: p, groups: groups, keep: keep, span: f.Span,
			size: min(max(leastEntries, 2*limit/r.Partitions()), mostEntries),
		})
	}
	return m, sideBySide(ctx, len(m.parts), func(ctx context.Context, p int) error { return m.parts[p].begin(ctx, &f) })
}

// next returns the newest id that is left, or "" when none is or the look has ended.
func (m *merged) next(ctx context.Context) (weir.BulkID, error) {
	for {
		if err := m.readOn(ctx); err != nil {
			return "", err
		}
		var first *listing
		m.rest = "" // what is older may be of a partition that was not looked at so far
		for _, l := range m.parts {
			switch {
			case len(l.found) == 0 && !l.over:
				m.rest = max(m.rest, l.span.Before)
			case len(l.found) > 0 && (first == nil || l.found[0] > first.found[0]):
				first = l
			}
		}
		if first == nil || first.found[0] < m.rest {
			return "", nil
		}
		id := first.found[0]
		first.found = first.found[1:]
		if id != m.last {
			m.last = id
			return id, nil
		}
	}
}

// readOn reads entries of the partitions of which none is left, while it may.
func (m *merged) readOn(ctx context.Context) error {
	for _, l := range m.parts {
		for len(l.found) == 0 && !l.over && m.left != 0 {
			n, err := l.more(ctx)
			if err != nil {
				return err
			}
			if m.left > 0 {
				m.left = max(0, m.left-n)
			}
		}
	}
	return nil
}

// some reads the next bulk actions, n at most; nil for one that was removed, or is not to be kept. There are none when
// none is left or the look has ended.
func (m *merged) some(ctx context.Context, n int) (list []*Bulk, err error) {
	ids, at := make([][]weir.BulkID, len(m.parts)), make([][]int, len(m.parts)) // of a partition, and their places in list
	for len(list) < n {
		id, err := m.next(ctx)
		if err != nil {
			return nil, err
		}
		if id == "" {
			break
		}
		p, err := stored.Home(id, m.from.Partitions())
		if err != nil {
			return nil, err
		}
		ids[p], at[p] = append(ids[p], id), append(at[p], len(list))
		list = append(list, nil)
	}
	return list, sideBySide(ctx, len(ids), func(ctx context.Context, p int) error {
		if len(ids[p]) == 0 {
			return nil
		}
		read, err := m.parts[p].bulks(ctx, ids[p])
		for i, b := range read {
			list[at[p][i]] = b
		}
		return err
	})
}

// sideBySide does the same with the numbers below n. Its few goroutines do many each: new ones would grow their stacks again.
func sideBySide(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range min(n, lookupAtOnce) {
		g.Go(func() error {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if err := do(ctx, int(i)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// keep returns what tells whether the filter selects a tenant and a name; nil: it selects all.
func (f *Filter) keep() func(tenant, name string) bool {
	if f.Name == "" && f.Sees == nil {
		return nil
	}
	search := partition.NewSearch(f.Name)
	return func(tenant, name string) bool { return (f.Sees == nil || f.Sees(tenant)) && search.Match(name) }
}

// group is terms of which a bulk action must have one at least.
type group struct {
	terms []partition.Term
	// tells: their rows have tenant and name. ofName: the terms are of the name, so that they select nothing more among
	// entries whose names are known and compared.
	tells, ofName bool
}

// groups returns what a bulk action must have: one term at least of each group.
func (f *Filter) groups() (all []group) {
	one := func(t ...partition.Term) { all = append(all, group{terms: t}) }
	var tenants, states group
	for _, name := range f.Tenants {
		tenants.terms = append(tenants.terms, partition.TenantTerm(name))
	}
	for _, text := range f.Terms {
		one(partition.TextTerm(text))
	}
	if f.Name != "" {
		s := partition.NewSearch(f.Name)
		for _, t := range s.Terms() {
			all = append(all, group{[]partition.Term{t}, true, true})
		}
	}
	if f.RetryOf != "" {
		one(partition.RetryTerm(f.RetryOf))
	}
	if f.Item != 0 {
		one(partition.ItemTerm(f.Item), partition.UnlistedTerm(), partition.LargeTerm())
	}
	if f.Failed {
		one(partition.FailedTerm())
	}
	among := f.States
	if len(among) == 0 && (f.Name != "" || f.Sees != nil) && len(all)+len(tenants.terms) == 0 {
		for s := weir.BulkRunning; s <= weir.BulkAwaiting; s++ {
			among = append(among, s) // whose rows have what it is kept by
		}
	}
	for _, s := range among {
		states.terms, states.tells = append(states.terms, partition.StateTerm(s)), true
	}
	return slices.DeleteFunc(append(all, tenants, states), func(g group) bool { return len(g.terms) == 0 })
}
