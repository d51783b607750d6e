package readback

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
)

// past is a store with bulk actions, and what is known of them.
type past struct {
	reader *Reader
	all    []*Bulk // the newest first
}

// newPast writes bulk actions as the owners of three partitions do. Some were not read by their owners.
func newPast(t *testing.T, r *rand.Rand, n int) *past {
	t.Helper()
	s := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = s.Close() })
	const partitions = 3
	var batches [partitions]store.Batch
	p := &past{reader: New(s, nil, nil)}
	p.reader.Partitions = func() int { return partitions }
	for i := range n {
		home := r.IntN(partitions)
		c := &partition.Created{ID: stored.NewID(home), Name: fmt.Sprint([]string{"", "Winter ", "winterreise-2/"}[r.IntN(3)], "name", r.IntN(4)), Tenant: fmt.Sprint("t", r.IntN(5)), Items: 1}
		if i > 3 && r.IntN(3) == 0 {
			c.RetryOf = p.all[r.IntN(3)].id
		}
		for k := range 3 {
			if r.IntN(3) == 0 {
				c.Terms = partition.AppendHash(c.Terms, partition.TextTerm(fmt.Sprint("label", k)))
			}
		}
		x := &Bulk{id: c.ID, Home: home, Spec: c, Status: &partition.Status{State: weir.BulkState(r.IntN(9)), Failed: int64(r.IntN(2))}}
		p.all = append(p.all, x)
		if i%10 == 9 {
			x.Status = nil
			body, err := partition.EncodeCreated(*c)
			if err == nil {
				err = s.Append(t.Context(), home, body, store.Claim{})
			}
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		rows := append(partition.IndexRows(c, x.Status), partition.SealJSON([]byte("b"+c.ID), c), partition.SealJSON([]byte("n"+c.ID), x.Status))
		batches[home].Set = append(batches[home].Set, rows...)
		shard := (home + 1) % partitions // has its spec, too
		batches[shard].Set = append(batches[shard].Set, partition.SealJSON([]byte("b"+c.ID), c), partition.SealJSON([]byte("n"+c.ID), x.Status))
	}
	for no := range batches {
		tok, err := s.Acquire(t.Context(), no, "me", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		batches[no].Number = 1
		if err := s.Commit(t.Context(), no, tok, &batches[no]); err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(p.all, func(a, b *Bulk) int { return newestFirst(a.id, b.id) })
	return p
}

// want lists what a filter selects. The state of one that was not read is not known.
func (p *past) want(f *Filter) (ids []weir.BulkID) {
	names := partition.NewSearch(f.Name)
	for _, b := range p.all {
		terms := b.Spec.FixedTerms()
		has := func(text string) bool { return slices.Contains(terms, partition.TextTerm(text)) }
		switch {
		case len(f.Tenants) > 0 && !slices.Contains(f.Tenants, b.Spec.Tenant):
		case b.Status != nil && len(f.States) > 0 && !slices.Contains(f.States, b.Status.State):
		case slices.ContainsFunc(f.Terms, func(text string) bool { return !has(text) }):
		case f.Failed && (b.Status == nil || b.Status.Failed == 0):
		case f.Sees != nil && !f.Sees(b.Spec.Tenant):
		case !f.Has(b.id) || f.RetryOf != "" && b.Spec.RetryOf != f.RetryOf:
		case !names.Match(b.Spec.Name):
		default:
			ids = append(ids, b.id)
		}
	}
	return ids
}

// draw draws a filter. Half of them are of a span, which may be empty, and begin and end at bulk actions or beside them.
func (p *past) draw(r *rand.Rand) (f Filter) {
	for range r.IntN(3) {
		f.Tenants = append(f.Tenants, fmt.Sprint("t", r.IntN(6)))
	}
	for range r.IntN(3) {
		f.States = append(f.States, weir.BulkState(r.IntN(9)))
	}
	for range r.IntN(2) {
		f.Terms = append(f.Terms, fmt.Sprint("label", r.IntN(4)))
	}
	f.Failed = r.IntN(4) == 0
	if r.IntN(3) == 0 {
		f.Name = []string{"name", fmt.Sprint("NAME", r.IntN(5)), "na win", "winter", "w", "winterreise 2", "name1 wi", "me", "n 2"}[r.IntN(9)]
	}
	if r.IntN(4) == 0 {
		without := fmt.Sprint("t", r.IntN(5))
		f.Sees = func(tenant string) bool { return tenant != without }
	}
	some := func() weir.BulkID { return p.all[r.IntN(len(p.all))].id + []weir.BulkID{"", "0"}[r.IntN(2)] }
	if r.IntN(2) == 0 {
		f.After = some()
	}
	if r.IntN(2) == 0 {
		f.Before = some()
	}
	if r.IntN(6) == 0 {
		f.RetryOf = p.all[r.IntN(len(p.all))].Spec.RetryOf
	}
	return f
}

func TestPagesHaveWhatAFilterSelectsOnceAndInOrder(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := newPast(t, r, 30+r.IntN(300))
		for range 40 {
			f, limit, early := p.draw(r), 1+r.IntN(60), 0
			p.reader.ahead = 1 + r.IntN(400)
			want := p.want(&f)
			var got []weir.BulkID
			for of := f; ; early++ {
				list, next, err := p.reader.Page(t.Context(), f, limit)
				if err != nil || len(list) > limit || next != "" && !of.Has(next) || next != "" && f.Before != "" && next >= f.Before || early > len(p.all) {
					t.Fatalf("seed %d: page of %d of %d before %q goes on before %q, %v", seed, len(list), limit, f.Before, next, err)
				}
				for _, b := range list {
					got = append(got, b.id)
				}
				if f.Before = next; next == "" {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, %+v, pages of %d: %d bulk actions, want %d\n%v\n%v", seed, f, limit, len(got), len(want), got, want)
			}
		}
	}
}

func TestFoundListsAllIDsThatAFilterSelects(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	p := newPast(t, r, 2000)
	p.reader.ahead = 1
	for _, f := range []Filter{{}, {Tenants: []string{"t3"}}, {Terms: []string{"label1", "label2"}}, {Tenants: []string{"none"}}} {
		got, err := p.reader.Found(t.Context(), f)
		if want := p.want(&f); err != nil || !slices.Equal(got, want) {
			t.Errorf("%+v finds %d, %v; want %d", f, len(got), err, len(want))
		}
	}
}

func TestAPageReadsAboutAsManyRowsAsItShows(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	p := newPast(t, r, 3000)
	s := &counted{Source: p.reader.store}
	p.reader.store = s
	for _, f := range []Filter{{}, {Tenants: []string{"t3"}}, {States: []weir.BulkState{weir.BulkCompleted}}, {Tenants: []string{"nobody"}}} {
		s.rows = 0
		if _, _, err := p.reader.Page(t.Context(), f, 50); err != nil || s.rows > 1000 {
			t.Errorf("a page of 50 with %+v reads %d rows, %v", f, s.rows, err)
		}
	}
}

func TestASpanReadsOnlyWhatIsInIt(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	p := newPast(t, r, 3000)
	s := &counted{Source: p.reader.store}
	p.reader.store = s
	middle := p.all[1500].id
	for _, tt := range []struct {
		span       partition.Span
		want, rows int
	}{
		{partition.Span{After: middle, Before: middle + "0"}, 0, 0},
		{partition.Span{After: p.all[1510].id, Before: middle}, 9, 60},
		{partition.Span{After: p.all[9].id}, 9, 60},
		{partition.Span{Before: p.all[2990].id}, 9, 60},
	} {
		for _, f := range []Filter{{}, {Tenants: []string{"t0", "t1", "t2", "t3", "t4"}}, {States: everyState}, {Name: "n"}} {
			f.Span, s.rows = tt.span, 0
			list, next, err := p.reader.Page(t.Context(), f, 50)
			if err != nil || len(list) != tt.want || next != "" || s.rows > tt.rows {
				t.Errorf("%+v has %d bulk actions and goes on before %q, %v, and reads %d rows; want all %d and %d rows at most", f, len(list), next, err,
					s.rows, tt.want, tt.rows)
			}
		}
	}
}

var everyState = []weir.BulkState{0, 1, 2, 3, 4, 5, 6, 7, 8}

func TestASearchComparesNamesInTheIndexAndReadsOnlyWhatItShows(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	p := newPast(t, r, 3000)
	s := &counted{Source: p.reader.store}
	p.reader.store = s
	for _, tt := range []struct {
		filter     Filter
		rows, keys int // that may be read: of the index, and by key
	}{
		{Filter{Name: "winters"}, 3000, 0},                            // as many names begin with "winte"
		{Filter{Name: "winters", Tenants: []string{"t3"}}, 3000, 600}, // a row each of the tenant's bulk actions, of which there are fewer
		{Filter{Name: "q"}, 0, 0},                                     // no word begins with it
		{Filter{Name: "w", Tenants: []string{"t3"}}, 1000, 1000},      // shown ones have a spec and a status, too
	} {
		s.rows, s.keys = 0, 0
		list, _, err := p.reader.Page(t.Context(), tt.filter, 50)
		if err != nil || s.rows-s.keys > tt.rows || s.keys > tt.keys {
			t.Errorf("%+v reads %d rows of the index, want %d at most, and %d by key, want %d, for %d bulk actions, %v", tt.filter, s.rows-s.keys, tt.rows,
				s.keys, tt.keys, len(list), err)
		}
	}
}

// counted counts the rows that are read, and those of them that were asked for by key.
type counted struct {
	Source
	mu         sync.Mutex
	rows, keys int
}

func (s *counted) add(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows += n
}

func (s *counted) Page(ctx context.Context, p int, r store.Range, limit int) ([]store.Row, error) {
	rows, err := s.Source.Page(ctx, p, r, limit)
	s.add(len(rows))
	return rows, err
}

func (s *counted) GetMany(ctx context.Context, p int, keys [][]byte) ([][]byte, error) {
	s.add(len(keys))
	s.mu.Lock()
	s.keys += len(keys)
	s.mu.Unlock()
	return s.Source.GetMany(ctx, p, keys)
}
