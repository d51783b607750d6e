package engine_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/memstore"
)

// partitionIn is the partition that a bulk action's id carries.
func partitionIn(t *testing.T, b *engine.BulkAction) byte {
	t.Helper()
	id, err := ulid.ParseStrict(strings.ToUpper(strings.TrimPrefix(string(b.ID()), "ba_")))
	if err != nil {
		t.Fatal(err)
	}
	return byte(binary.BigEndian.Uint16(id[6:8]))
}

func TestTheNumberOfPartitionsChangesWhileWorkRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		var starts spans
		a, s := steady(&calls, &starts), several{memory()}
		three := nodes(t, s, 3, a)
		bulks := oneAtATime(t, three[0], a, 12, 8000)
		most := byte(0)
		for _, n := range []int{24, 5, 40} {
			time.Sleep(time.Second)
			if err := three[1].SetPartitions(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			for i := range 60 {
				sp := spec(a)
				sp.Tenant = fmt.Sprint("later ", n, i)
				b := submit(t, three[i%3], sp, numbers(10))
				most = max(most, partitionIn(t, b))
				if int(partitionIn(t, b)) >= n {
					t.Errorf("new work went to partition %d of %d", partitionIn(t, b), n)
				}
				bulks = append(bulks, b)
			}
		}
		if most < 24 {
			t.Errorf("new work went no further than partition %d of 40", most)
		}
		wantOwned(t, 40, three...)
		for _, b := range bulks {
			if rep := wait(t, b); rep.Counts.Done != rep.Counts.Total {
				t.Errorf("%s: %+v", b.ID(), rep.Counts)
			}
		}
		calls.wantEach(t, 12*8000+3*60*10, 1)
		if gap := starts.longest(); gap > 100*time.Millisecond {
			t.Errorf("a bulk action stood still for %v while the map changed", gap)
		}
	})
}

func TestAMapThatTheStoreForgotIsPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := noop("step"), several{memory()}
		r := nodes(t, s, 1, a)[0]
		old := lookup(t, s)
		if err := r.SetPartitions(t.Context(), 24); err != nil {
			t.Fatal(err)
		}
		fresh := lookup(t, s)
		if _, err := s.Swap(t.Context(), "map", fresh, old); err != nil { // as a store that was set back
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if got := lookup(t, s); string(got) != string(fresh) {
			t.Errorf("the map is %s, want %s", got, fresh)
		}
		wantOwned(t, 24, r)
	})
}

func lookup(t *testing.T, s store.Registry) []byte {
	t.Helper()
	raw, err := s.Lookup(t.Context(), "map")
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestOneKeyIsOneBulkActionWhileTheMapChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := noop("step"), several{memory()}
		three := nodes(t, s, 3, a)
		keys := 50
		if testing.Short() {
			keys = 15
		}
		ids := make([]map[weir.BulkID]bool, keys)
		var mu sync.Mutex
		var wg sync.WaitGroup
		for k := range ids {
			ids[k] = map[weir.BulkID]bool{}
			for range 6 {
				wg.Go(func() {
					sp := spec(a)
					sp.Tenant, sp.IdempotencyKey = fmt.Sprint("tenant ", k%7), fmt.Sprint("key ", k)
					for try := range 40 {
						b, err := attempt(t.Context(), three[(k+try)%3].Engine, sp, engine.Items(numbers(20)))
						if err != nil && !errors.Is(err, weir.ErrConflict) { // a conflict is another submit of it under way
							t.Error(err)
							return
						}
						if err == nil {
							mu.Lock()
							ids[k][b.ID()] = true
							mu.Unlock()
						}
						time.Sleep(time.Duration(k+1) * time.Millisecond)
					}
				})
			}
		}
		for _, n := range []int{8, 16, 3, 20, 12} {
			time.Sleep(100 * time.Millisecond)
			if err := three[0].SetPartitions(t.Context(), n); err != nil {
				t.Fatal(err)
			}
		}
		wg.Wait()
		for k, made := range ids {
			if len(made) != 1 {
				t.Errorf("key %d made %d bulk actions", k, len(made))
			}
		}
	})
}

func TestANodeOfTheOldNumberAndOneOfTheNewRunSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := noop("step"), several{memory()}
		old := start(t, s, engine.Options{Partitions: 4, LeaseFor: 3 * time.Second}, action(a))
		time.Sleep(time.Second)
		fresh := start(t, s, engine.Options{Partitions: 16, LeaseFor: 3 * time.Second}, action(a))
		time.Sleep(time.Second)
		wantOwned(t, 16, old, fresh)
		for i := range 40 {
			sp := spec(a)
			sp.Tenant = fmt.Sprint("tenant ", i)
			wantCounts(t, wait(t, submit(t, []*rig{old, fresh}[i%2], sp, numbers(100))), 100, 0, 0)
		}
	})
}

func TestANumberOfPartitionsOutOfRangeIsRefused(t *testing.T) {
	r := open(t, memory(), engine.Options{})
	for _, n := range []int{0, -1, 257} {
		var bad *weir.FieldError
		if err := r.SetPartitions(t.Context(), n); !errors.As(err, &bad) || bad.Field != "partitions" {
			t.Errorf("SetPartitions(%d) = %v, want an error of the field", n, err)
		}
	}
}

func TestAChangeOfPartitionsThatIsNotAllowedChangesNothing(t *testing.T) {
	r := open(t, memory(), engine.Options{Partitions: 4})
	refused := errors.New("not now")
	seen := engine.Partitioning{}
	err := r.ChangePartitions(t.Context(), 9, func(p engine.Partitioning) error { seen = p; return refused })
	if want := (engine.Partitioning{Partitions: 4, Kept: 4, Version: 1}); !errors.Is(err, refused) || seen != want {
		t.Errorf("ChangePartitions() = %v with %+v, want %v with %+v", err, seen, refused, want)
	}
	must(t, r.ChangePartitions(t.Context(), 9, func(engine.Partitioning) error { return nil }))
	must(t, r.ChangePartitions(t.Context(), 3, func(engine.Partitioning) error { return nil }))
	got, err := r.Partitioning(t.Context())
	if want := (engine.Partitioning{Partitions: 3, Kept: 9, Version: 3}); err != nil || got != want {
		t.Errorf("after two changes there are %+v, %v, want %+v", got, err, want)
	}
}

func TestDataOfAnotherFormatIsRefused(t *testing.T) {
	s := memstore.New(memstore.Options{})
	if _, err := s.Swap(t.Context(), "map", nil, []byte(`{"format":1,"generation":1,"partitions":8,"most":8}`)); err != nil {
		t.Fatal(err)
	}
	_, err := engine.Open(t.Context(), s, engine.Options{})
	if err == nil || !strings.Contains(err.Error(), "format 1") || errors.Is(err, store.ErrCorrupt) {
		t.Errorf("Open() = %v, want an error about format 1", err)
	}
}
