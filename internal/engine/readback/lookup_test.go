package readback

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/filter"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/retention"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
)

// shelf is a store of one partition with bulk actions that have not begun. It counts how often it is read.
type shelf struct {
	store.Store
	tok    store.Token
	number uint64
	codec  *block.Codec
	ids    []weir.BulkID // the oldest first
	doc    []byte        // of each item
	reads  atomic.Int64

	at   int64  // the read after which then is called; once
	then func() // nil: nothing
}

func newShelf(t testing.TB) *shelf {
	t.Helper()
	s := &shelf{Store: memstore.New(memstore.Options{}), doc: []byte("1")}
	t.Cleanup(func() { _ = s.Close() })
	var err error
	if s.codec, err = block.NewCodec(); err == nil {
		s.tok, err = s.Acquire(t.Context(), 0, "me", time.Hour)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// itemOf is the id of an item of the bulk action with that number. The first item of each seventh is the same.
func itemOf(bulk, item int) string {
	if bulk%7 == 3 && item == 0 {
		return "user 42"
	}
	return fmt.Sprint("user-", bulk, "-", item)
}

// add adds bulk actions of so many items, which are inline or have a filter.
func (s *shelf) add(t testing.TB, n, items int, inline bool) {
	t.Helper()
	b := &store.Batch{}
	for range n {
		c := &partition.Created{
			ID: stored.NewID(0), Name: "spring", Tenant: "growth", Items: int64(items), Steps: []string{"award"}, Inline: inline,
		}
		var builder block.Builder
		var ids filter.Segment
		var hashes []uint64
		for i := range items {
			id := itemOf(len(s.ids), i)
			builder.Add(id, s.doc)
			hashes = append(hashes, filter.HashString(id))
		}
		ids.Add(0, hashes)
		raw := s.codec.Seal(nil, &builder)
		if inline {
			b.Set = append(b.Set, sealed("i"+string(c.ID), raw))
		} else {
			err := s.PutBlocks(t.Context(), 0, c.ID, 0, [][]byte{raw})
			if err == nil {
				err = ids.Each(func(page int, raw []byte) error {
					return s.PutBlocks(t.Context(), 0, c.ID, stored.FilterBlocks+uint32(page), [][]byte{raw})
				})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		status := &partition.Status{State: weir.BulkRunning}
		b.Set = append(b.Set, partition.IndexRows(c, status)...)
		b.Set = append(b.Set, partition.SealJSON([]byte("b"+c.ID), c), partition.SealJSON([]byte("n"+c.ID), status))
		s.ids = append(s.ids, c.ID)
	}
	s.commit(t, b)
}

// sealed is a row with its checksum, as in docs/storage.md.
func sealed(key string, value []byte) store.Row {
	sum := crc32.Checksum(append([]byte(key), value...), crc32.MakeTable(crc32.Castagnoli))
	return store.Row{Key: []byte(key), Value: binary.BigEndian.AppendUint32(slices.Clone(value), sum)}
}

func (s *shelf) commit(t testing.TB, b *store.Batch) {
	t.Helper()
	s.number++
	b.Number = s.number
	if err := s.Commit(t.Context(), 0, s.tok, b); err != nil {
		t.Fatal(err)
	}
}

// read counts a read that begins.
func (s *shelf) read() {
	if s.reads.Add(1) == s.at+1 && s.then != nil {
		then := s.then
		s.then = nil
		then()
	}
}

func (s *shelf) Get(ctx context.Context, partition int, key []byte) ([]byte, error) {
	s.read()
	return s.Store.Get(ctx, partition, key)
}

func (s *shelf) GetMany(ctx context.Context, partition int, keys [][]byte) ([][]byte, error) {
	s.read()
	return s.Store.GetMany(ctx, partition, keys)
}

func (s *shelf) Page(ctx context.Context, partition int, r store.Range, limit int) ([]store.Row, error) {
	s.read()
	return s.Store.Page(ctx, partition, r, limit)
}

func (s *shelf) Scan(ctx context.Context, partition int, prefix []byte, yield func(key, value []byte) error) error {
	s.read()
	return s.Store.Scan(ctx, partition, prefix, yield)
}

func (s *shelf) GetBlock(ctx context.Context, partition int, id weir.BulkID, no uint32) ([]byte, error) {
	s.read()
	return s.Store.GetBlock(ctx, partition, id, no)
}

// join makes joint filters, as the owner does.
func (s *shelf) join(t testing.TB) {
	t.Helper()
	k := retention.Keeper{Store: s, Codec: s.codec, Turn: make(chan struct{}, 1), Commit: func(_ context.Context, r *partition.Removal) error {
		var b store.Batch
		r.Write(&b)
		s.commit(t, &b)
		return nil
	}}
	if err := k.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// lookup returns the bulk actions in which an id is found, and how many reads that took.
func (s *shelf) lookup(t testing.TB, id string) (ids []weir.BulkID, reads int) {
	t.Helper()
	r := New(s, s.codec, nil)
	r.Partitions = func() int { return 1 }
	s.reads.Store(0)
	for f, err := range r.Lookup(t.Context(), id, LookupOptions{}) {
		if err != nil || f.Row.ID != id {
			t.Fatal(f, err)
		}
		ids = append(ids, f.Bulk)
	}
	return ids, int(s.reads.Load())
}

// want lists the bulk actions that have "user 42", the newest first.
func (s *shelf) want() (ids []weir.BulkID) {
	for no := 3; no < len(s.ids); no += 7 {
		ids = append(ids, s.ids[no])
	}
	slices.SortFunc(ids, newestFirst)
	return ids
}

func TestALookupReadsTheSpecsOfManyTogether(t *testing.T) {
	s := newShelf(t)
	s.add(t, 1000, 20, true)
	if got, reads := s.lookup(t, "nobody"); len(got) > 0 || reads > 30 { // 2,000 when each is asked
		t.Errorf("a lookup in 1,000 small bulk actions took %d reads and found %v, want nothing in few reads", reads, got)
	}
	if got, _ := s.lookup(t, "user 42"); !slices.Equal(got, s.want()) {
		t.Errorf("found in %v, want %v", got, s.want())
	}
}

func TestTheReadsOfALookupAreBounded(t *testing.T) {
	for _, tt := range []struct{ bulks, most int }{
		{10, 20}, {1000, 60}, {10_000, 200}, // 20,000 when each is asked
	} {
		t.Run(fmt.Sprint(tt.bulks), func(t *testing.T) {
			s := newShelf(t)
			for len(s.ids) < tt.bulks { // a fifth of them comes between two looks
				s.add(t, tt.bulks/10, 20, true)
				s.add(t, tt.bulks/10, 40, false)
				s.join(t)
			}
			sum := 0
			for i := range 20 {
				got, reads := s.lookup(t, fmt.Sprint("nobody", i))
				if sum += reads; len(got) > 0 {
					t.Errorf("found %v", got)
				}
			}
			t.Logf("%d bulk actions: %d reads for a lookup", tt.bulks, sum/20)
			if sum/20 > tt.most {
				t.Errorf("a lookup in %d bulk actions takes %d reads, want at most %d", tt.bulks, sum/20, tt.most)
			}
			if got, _ := s.lookup(t, "user 42"); !slices.Equal(got, s.want()) {
				t.Errorf("found in %d, want %d", len(got), len(s.want()))
			}
		})
	}
}

// TestALookupFindsWhatAJointFilterHasLost: without its pages all of its members are asked.
func TestALookupFindsWhatAJointFilterHasLost(t *testing.T) {
	s := newShelf(t)
	s.add(t, 300, 20, true)
	s.join(t)
	owners, err := s.BlockOwners(t.Context(), 0)
	if err != nil || len(owners) != 2 {
		t.Fatalf("blocks of %v, %v; want those of two joint filters", owners, err)
	}
	for _, name := range owners {
		if err := s.DeleteBlocks(t.Context(), 0, name); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := s.lookup(t, "user 42"); !slices.Equal(got, s.want()) {
		t.Errorf("found in %v, want %v", got, s.want())
	}
}

// TestALookupFindsWhatIsJoinedMeanwhile joins after the lookup has listed what is not, and again after it has listed
// the joint filters.
func TestALookupFindsWhatIsJoinedMeanwhile(t *testing.T) {
	for at := range int64(16) {
		s := newShelf(t)
		for range 3 {
			s.add(t, 20, 20, false)
			s.join(t)
		}
		s.add(t, 20, 20, false)
		want := s.want()
		s.then = func() { // the fourth takes the place of the others
			s.join(t)
			s.add(t, 20, 20, false)
			s.join(t)
		}
		s.at = at
		got, _ := s.lookup(t, "user 42")
		for _, id := range want { // of those that came meanwhile any may be found
			if !slices.Contains(got, id) {
				t.Errorf("joined at read %d: %s is not found", at, id)
			}
		}
	}
}

func BenchmarkLookupInManyBulkActions(b *testing.B) {
	for _, joined := range []bool{false, true} {
		b.Run(fmt.Sprint("joined ", joined), func(b *testing.B) {
			s := newShelf(b)
			s.add(b, 10_000, 100, false)
			if joined {
				s.join(b)
			}
			reads := 0
			for b.Loop() {
				_, n := s.lookup(b, fmt.Sprint("nobody", b.N))
				reads += n
			}
			b.ReportMetric(float64(reads)/float64(b.N), "reads/lookup")
		})
	}
}

// BenchmarkJoin is what an item costs each time that it comes into a joint filter.
func BenchmarkJoin(b *testing.B) {
	const bulks, items = 100, 1000
	for b.Loop() {
		b.StopTimer()
		s := newShelf(b)
		s.doc = []byte(`{"email":"anne.example@example.com","coupon":"8c1b0f3a77de","amount":1250,"lang":"en","x":"0123456789"}`)
		s.add(b, bulks, items, false)
		b.StartTimer()
		s.join(b)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/bulks/items, "ns/item")
}

func TestALookupTellsThatAStoreFails(t *testing.T) {
	s := newShelf(t)
	s.add(t, 3, 20, false)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r := New(s, s.codec, nil)
	r.Partitions = func() int { return 1 }
	for f, err := range r.Lookup(t.Context(), "user 42", LookupOptions{}) {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("Lookup yields %v, %v; want ErrClosed", f, err)
		}
	}
}
