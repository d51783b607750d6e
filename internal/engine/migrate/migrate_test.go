package migrate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/migrate"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
)

const partitions = 3

// old returns a store of a format before, whose index has what is wrong and lacks what should be there.
func old(t *testing.T, format int) *memstore.Store {
	t.Helper()
	s := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = s.Close() })
	write(t, s, own.MapName, fmt.Sprintf(`{"format":%d,"generation":2,"partitions":2,"most":%d}`, format, partitions))
	for p := range partitions {
		var b store.Batch
		for i := range 110 { // more than are read at once
			c, st := bulk(p, i)
			b.Set = append(b.Set, partition.SealJSON([]byte("b"+string(c.ID)), c), partition.SealJSON([]byte("n"+string(c.ID)), st),
				store.Row{Key: []byte("j12345678" + string(c.ID))}, store.Row{Key: []byte("u12345678" + string(c.ID))})
		}
		b.Set = append(b.Set, store.Row{Key: []byte("mjf_1"), Value: []byte("a joint filter")}, store.Row{Key: []byte("t"), Value: []byte("time")})
		b.Number = 1
		tok, err := s.Acquire(t.Context(), p, "before", leaseFor)
		if err == nil {
			err = s.Commit(t.Context(), p, tok, &b)
		}
		if err == nil {
			err = s.Release(t.Context(), p, tok)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

const leaseFor = 10e9

// bulk is one that the store has.
func bulk(p, i int) (*partition.Created, *partition.Status) {
	c := &partition.Created{ID: weir.BulkID(fmt.Sprintf("ba_%d_%04d", p, i)), Name: fmt.Sprint("Spring reward ", i), Tenant: "acme",
		Steps: []string{"award"}, Items: 1000}
	st := &partition.Status{State: weir.BulkRunning}
	if i%2 == 0 {
		st.State, st.Failed = weir.BulkCompleted, 3
	}
	return c, st
}

func write(t *testing.T, s store.Registry, name, text string) {
	t.Helper()
	if _, err := s.Swap(t.Context(), name, nil, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// rows reads all rows of a partition.
func rows(t *testing.T, s store.State, p int) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := s.Scan(t.Context(), p, nil, func(key, value []byte) error {
		all[string(key)] = string(value)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// want is what a partition has when it was migrated.
func want(p int) map[string]string {
	all := map[string]string{"t": "time"}
	for i := range 110 {
		c, st := bulk(p, i)
		for _, r := range append(partition.IndexRows(c, st), partition.SealJSON([]byte("b"+string(c.ID)), c),
			partition.SealJSON([]byte("n"+string(c.ID)), st)) {
			all[string(r.Key)] = string(r.Value)
		}
	}
	return all
}

func run(ctx context.Context, s store.Store, node string) error {
	return migrate.Run(ctx, s, node, slog.New(slog.DiscardHandler))
}

func wantMigrated(t *testing.T, s *memstore.Store, from int) {
	t.Helper()
	m, err := own.ReadMap(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if m.Generation != 2 || m.Most != partitions || len(m.Migrated) != 1 || m.Migrated[0].From != from || m.Migrated[0].To != own.StoredFormat {
		t.Errorf("the map is %+v, want it to say what it said, and one migration", m)
	}
	for p := range partitions {
		if got := rows(t, s, p); !maps.Equal(got, want(p)) {
			t.Errorf("partition %d has %d rows, want %d, or others", p, len(got), len(want(p)))
		}
	}
}

func TestEveryFormatIsMigrated(t *testing.T) {
	for format := own.OldestFormat; format < own.StoredFormat; format++ {
		s := old(t, format)
		for range 2 { // the second finds nothing to do
			if err := run(t.Context(), s, "node"); err != nil {
				t.Fatal(err)
			}
		}
		wantMigrated(t, s, format)
	}
}

var errDied = errors.New("the process died")

// mortal fails all writes after some: the process was killed.
type mortal struct {
	store.Store
	left int
}

func (m *mortal) die() error {
	if m.left--; m.left < 0 {
		return errDied
	}
	return nil
}

// Commit is a write.
func (m *mortal) Commit(ctx context.Context, p int, tok store.Token, b *store.Batch) error {
	if err := m.die(); err != nil {
		return err
	}
	return m.Store.Commit(ctx, p, tok, b)
}

// Swap is a write.
func (m *mortal) Swap(ctx context.Context, name string, before, value []byte) ([]byte, error) {
	if err := m.die(); err != nil {
		return nil, err
	}
	return m.Store.Swap(ctx, name, before, value)
}

// Release is not made by a process that was killed.
func (m *mortal) Release(ctx context.Context, p int, tok store.Token) error {
	if m.left < 0 {
		return nil
	}
	return m.Store.Release(ctx, p, tok)
}

// TestAMigrationThatWasKilledIsContinued: it is killed before each of its writes, and the process after it finds leases
// that have not run out.
func TestAMigrationThatWasKilledIsContinued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n := 0; ; n++ {
			s := old(t, 2)
			err := run(t.Context(), &mortal{s, n}, "first")
			if err == nil {
				if n < 3*partitions {
					t.Errorf("it took %d writes", n)
				}
				return
			}
			if !errors.Is(err, errDied) {
				t.Fatal(err)
			}
			raw, err := s.Lookup(t.Context(), own.MapName)
			if err != nil {
				t.Fatal(err)
			}
			var m own.Map
			if err := json.Unmarshal(raw, &m); err != nil {
				t.Fatal(err)
			}
			if begun := n > 0; begun != (m.Format == own.StoredFormat) {
				t.Errorf("after %d writes the map has format %d: earlier versions must refuse what was changed", n, m.Format)
			}
			if _, err := own.ReadMap(t.Context(), s); err == nil {
				t.Errorf("after %d writes the map can be read", n)
			}
			if err := run(t.Context(), s, "second"); err != nil {
				t.Fatal(err)
			}
			wantMigrated(t, s, 2)
		}
	})
}

func TestOneOfManyNodesMigrates(t *testing.T) {
	s := old(t, 3)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if err := run(t.Context(), s, fmt.Sprint("node ", i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	wantMigrated(t, s, 3)
}

// TestAMigrationOfAnEarlierVersionIsContinued: it began with another number, and how far it was does not count.
func TestAMigrationOfAnEarlierVersionIsContinued(t *testing.T) {
	s := old(t, 2)
	raw, err := s.Lookup(t.Context(), own.MapName)
	if err != nil {
		t.Fatal(err)
	}
	next := strings.Replace(string(raw), `"format":2`, `"format":3,"migrating":{"from":2,"done":3}`, 1)
	if _, err := s.Swap(t.Context(), own.MapName, raw, []byte(next)); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), s, "node"); err != nil {
		t.Fatal(err)
	}
	wantMigrated(t, s, 2)
}

func TestWhatCannotBeMigratedIsRefusedUnchanged(t *testing.T) {
	for _, tt := range []struct {
		name, theMap, node string
		want               []string // in the error
	}{
		{"a newer format", `{"format":99,"generation":1,"partitions":2,"most":2}`, "", []string{"format 99", fmt.Sprint(own.StoredFormat), "a newer one", "nothing was changed"}},
		{"a newer format with another map", `{"format":99}`, "", []string{"format 99", fmt.Sprint(own.StoredFormat)}},
		{"a format too old", `{"format":1,"generation":1,"partitions":2,"most":2}`, "", []string{"format 1,", "formats 2 to", "export"}},
		{"nodes of the version before", `{"format":3,"generation":1,"partitions":2,"most":2}`, "node_1", []string{"format 3", "node_1", "stop all of them"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := memstore.New(memstore.Options{})
			defer s.Close()
			write(t, s, own.MapName, tt.theMap)
			if tt.node != "" {
				if err := s.Announce(t.Context(), "nodes", store.Record{Name: tt.node, Value: []byte(`{"slots":1}`)}, leaseFor); err != nil {
					t.Fatal(err)
				}
			}
			err := run(t.Context(), s, "node")
			for _, word := range tt.want {
				if err == nil || !strings.Contains(err.Error(), word) {
					t.Errorf("Run = %v, want %q in it", err, word)
				}
			}
			if raw, err := s.Lookup(t.Context(), own.MapName); err != nil || string(raw) != tt.theMap {
				t.Errorf("the map is %s, %v, want it unchanged", raw, err)
			}
		})
	}
}

func TestAnEmptyStoreIsNotMigrated(t *testing.T) {
	s := memstore.New(memstore.Options{})
	defer s.Close()
	if err := run(t.Context(), s, "node"); err != nil {
		t.Fatal(err)
	}
	if list, err := s.List(t.Context(), "", "", 10); err != nil || len(list) != 0 {
		t.Errorf("it has %v, %v", list, err)
	}
}
