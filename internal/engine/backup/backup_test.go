package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine/backup"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/pebblestore"
	"github.com/weirhq/weir/store/redisstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// embedded opens an empty embedded store, which ends with the test.
func embedded(t testing.TB) backup.Target {
	t.Helper()
	s, err := pebblestore.Open("weir", pebblestore.Options{FS: vfs.NewMem(), Mode: pebblestore.Memory, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// redis opens an empty store on Redis, which ends with the test.
func redis(t testing.TB) backup.Target {
	t.Helper()
	s, err := redisstore.OpenSpread(context.WithoutCancel(t.Context()), redisstore.Options{
		Addresses: []string{testenv.Redis(t).Addr}, Stage: "test", Mode: redisstore.Memory, Logger: slog.New(slog.DiscardHandler),
	})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const theMap = `{"format":4,"generation":4,"partitions":2,"most":3,"before":[3]}`

// fill writes something of each kind to three partitions and the one of control.
func fill(t testing.TB, s store.Store) {
	t.Helper()
	ctx, random := t.Context(), rand.New(rand.NewPCG(1, 2))
	for _, p := range []int{0, 1, 2, store.Control} {
		for b := range 3 {
			var blocks [][]byte
			for i := range 4 {
				blocks = append(blocks, noise(random, 1+i*100_000))
			}
			id := weir.BulkID(fmt.Sprintf("ba_%d_%d", p, b))
			must(t, s.PutBlocks(ctx, p, id, 0, blocks))
			must(t, s.PutBlocks(ctx, p, id, 1<<31, blocks[:1]))
		}
		for i := range 20 {
			must(t, s.Append(ctx, p, fmt.Appendf(nil, "message %d", i), store.Claim{Key: fmt.Sprint("key", i), Value: fmt.Append(nil, p, i)}))
		}
		first, err := s.Peek(ctx, p, 0, 5)
		must(t, err)
		must(t, s.CloseClaims(ctx, p, 4))
		tok, err := s.Acquire(ctx, p, "node", time.Hour)
		must(t, err)
		for n := range uint64(3) {
			b := &store.Batch{Number: n + 1, Ack: first[4].Seq}
			for i := range 1500 {
				b.Set = append(b.Set, store.Row{Key: fmt.Appendf(nil, "row %d %d", n, i), Value: noise(random, i%50)})
			}
			must(t, s.Commit(ctx, p, tok, b))
		}
		must(t, s.Release(ctx, p, tok))
	}
	for name, value := range map[string]string{own.MapName: theMap, "action/a": "{}", "key/k": "secret", "z": strings.Repeat("z", 1<<20)} {
		_, err := s.Swap(ctx, name, nil, []byte(value))
		must(t, err)
	}
	must(t, s.Announce(ctx, "other", store.Record{Name: "a", Value: []byte("b")}, time.Hour))
}

func noise(random *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

// content lists what a store has, apart from numbers of commits and the map.
func content(t testing.TB, s store.Portable) []string {
	t.Helper()
	ctx := t.Context()
	v, err := s.Snapshot(ctx)
	must(t, err)
	defer v.Close()
	var all []string
	add := func(format string, args ...any) error { all = append(all, fmt.Sprintf(format, args...)); return nil }
	for _, p := range []int{0, 1, 2, store.Control} {
		h, err := v.Head(ctx, p)
		must(t, err)
		must(t, add("%d generation %d", p, h.Generation))
		must(t, v.Blocks(ctx, p, func(id weir.BulkID, no uint32, b []byte) error { return add("%d block %s %d %x", p, id, no, b) }))
		from := len(all)
		must(t, v.Claims(ctx, p, func(key string, value []byte) error { return add("%d claim %s %s", p, key, value) }))
		slices.Sort(all[from:])
		must(t, v.Messages(ctx, p, func(b []byte) error { return add("%d message %s", p, b) }))
		must(t, v.Rows(ctx, p, func(k, b []byte) error { return add("%d row %s %x", p, k, b) }))
	}
	must(t, v.Records(ctx, func(r store.Record) error {
		if r.Name == own.MapName {
			return nil
		}
		return add("record %s %s", r.Name, r.Value)
	}))
	return all
}

func wantSame(t testing.TB, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("%d and %d entries; number %d is %.100q, want %.100q", len(got), len(want), i,
				slices.Concat(got[min(i, len(got)):], []string{"none"})[0], slices.Concat(want[min(i, len(want)):], []string{"none"})[0])
		}
	}
}

func write(t testing.TB, s store.Portable) []byte {
	t.Helper()
	var file bytes.Buffer
	_, err := backup.Write(t.Context(), s, &file, "1.2.3")
	must(t, err)
	return file.Bytes()
}

func restore(t testing.TB, s backup.Target, file []byte, moved bool) backup.Summary {
	t.Helper()
	sum, err := backup.Restore(t.Context(), s, bytes.NewReader(file), backup.Options{Moved: moved})
	must(t, err)
	return sum
}

func TestARestoredStoreHasEverything(t *testing.T) {
	s := embedded(t)
	fill(t, s)
	want, file := content(t, s), write(t, s)
	for _, moved := range []bool{true, false} {
		t.Run(fmt.Sprintf("moved=%t", moved), func(t *testing.T) {
			to := embedded(t)
			sum := restore(t, to, file, moved)
			if c := sum.Counts; c.Blocks != 4*15 || c.Claims != 80 || c.Messages != 4*15 || c.Rows != 4*4500 || c.Records != 4 ||
				sum.Partitions != 3 || sum.Version != "1.2.3" || sum.Format != own.StoredFormat || time.Since(sum.Taken) > time.Hour {
				t.Errorf("summary %+v", sum)
			}
			wantSame(t, content(t, to), want)
			for _, p := range []int{0, 1, 2, store.Control} {
				last, err := to.Last(t.Context(), p)
				must(t, err)
				if last.Number < 3 || (last.Number > 1<<32) == moved {
					t.Errorf("partition %d goes on counting commits from %d", p, last.Number)
				}
			}
			m, err := own.ReadMap(t.Context(), to)
			must(t, err)
			if m.Most != 3 || m.Generation != 4 || len(m.Before) != 1 {
				t.Errorf("map %+v", m)
			}
			if lost := len(m.Losses); moved && lost != 0 || !moved && lost != 3 {
				t.Errorf("%d losses are noted: %+v", lost, m.Losses)
			}
			for _, l := range m.Losses {
				if l.Open() || l.Have != 3 {
					t.Errorf("loss %+v is open, or of another commit", l)
				}
			}
		})
	}
}

// A backup of one backend is restored into the other, and the backup of that one back again.
func TestAStoreMovesBetweenBackends(t *testing.T) {
	a, b, c := embedded(t), redis(t), embedded(t)
	fill(t, a)
	want := content(t, a)
	restore(t, b, write(t, a), true)
	wantSame(t, content(t, b), want)
	restore(t, c, write(t, b), true)
	wantSame(t, content(t, c), want)
}

// mortal dies with its nth write, which is done or not.
type mortal struct {
	backup.Target
	left int
	done bool // the last write is done
}

var errDied = errors.New("died")

func (m *mortal) die(write func() error) error {
	if m.left--; m.left > 0 {
		return write()
	}
	if m.left == 0 && m.done {
		_ = write()
	}
	return errDied
}

func (m *mortal) PutBlocks(ctx context.Context, p int, id weir.BulkID, first uint32, blocks [][]byte) error {
	return m.die(func() error { return m.Target.PutBlocks(ctx, p, id, first, blocks) })
}

func (m *mortal) Commit(ctx context.Context, p int, tok store.Token, b *store.Batch) error {
	return m.die(func() error { return m.Target.Commit(ctx, p, tok, b) })
}

func (m *mortal) Advance(ctx context.Context, p int, tok store.Token, n uint64) error {
	return m.die(func() error { return m.Target.Advance(ctx, p, tok, n) })
}

func (m *mortal) CloseClaims(ctx context.Context, p int, g uint64) error {
	return m.die(func() error { return m.Target.CloseClaims(ctx, p, g) })
}

func (m *mortal) Acquire(ctx context.Context, p int, owner string, ttl time.Duration) (tok store.Token, err error) {
	err = m.die(func() error { tok, err = m.Target.Acquire(ctx, p, owner, ttl); return err })
	return tok, err
}

func (m *mortal) Release(ctx context.Context, p int, tok store.Token) error {
	return m.die(func() error { return m.Target.Release(ctx, p, tok) })
}

func (m *mortal) Swap(ctx context.Context, name string, old, value []byte) (held []byte, err error) {
	err = m.die(func() error { held, err = m.Target.Swap(ctx, name, old, value); return err })
	return held, err
}

// TestARestoreThatDiesIsRunAgain stops a restore at each of its writes: no engine opens what it left, and the next
// restore makes it whole.
func TestARestoreThatDiesIsRunAgain(t *testing.T) {
	s := embedded(t)
	fill(t, s)
	want, file := content(t, s), write(t, s)
	count := &mortal{Target: embedded(t), left: 1 << 30}
	restore(t, count, file, true)
	writes := 1<<30 - count.left
	for n, to := 1, embedded(t); n <= writes; n++ {
		m := &mortal{Target: to, left: n, done: n%2 == 0 || n == writes}
		if _, err := backup.Restore(t.Context(), m, bytes.NewReader(file), backup.Options{Moved: true}); !errors.Is(err, errDied) {
			t.Fatalf("write %d of %d: %v", n, writes, err)
		}
		if n == writes { // it was the last, and was made
			wantSame(t, content(t, to), want)
		} else if n%5 == 0 { // others find what the restore before left
			restore(t, to, file, true)
			wantSame(t, content(t, to), want)
		}
		if n%5 == 0 || n == writes-1 {
			to = embedded(t)
		}
	}
}

func TestAnEngineRefusesAStoreThatIsBeingRestored(t *testing.T) {
	s, to := embedded(t), embedded(t)
	fill(t, s)
	_, err := backup.Restore(t.Context(), &mortal{Target: to, left: 30}, bytes.NewReader(write(t, s)), backup.Options{})
	if !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	_, err = own.OpenLayout(t.Context(), to, 0, nil, nil, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "part of a backup") {
		t.Errorf("OpenLayout = %v, want it to refuse", err)
	}
	if _, err := backup.Write(t.Context(), to, io.Discard, ""); err == nil || !strings.Contains(err.Error(), "part of a backup") {
		t.Errorf("Write of it = %v, want it to refuse", err)
	}
}

// TestDamageOfAFileIsFound changes a file in 400 places and cuts it off in as many.
func TestDamageOfAFileIsFound(t *testing.T) {
	s := embedded(t)
	fill(t, s)
	file := write(t, s)
	random := rand.New(rand.NewPCG(3, 4))
	sum, err := backup.Check(t.Context(), bytes.NewReader(file))
	if err != nil || sum.Rows != 4*4500 {
		t.Fatalf("Check of what is whole = %+v, %v", sum, err)
	}
	for i := range 400 {
		at := i // the first frame's head, and anywhere
		if i >= 40 {
			at = random.IntN(len(file))
		}
		bad := bytes.Clone(file)
		bad[at] ^= 1 << random.IntN(8)
		if _, err := backup.Check(t.Context(), bytes.NewReader(bad)); err == nil {
			t.Errorf("byte %d of %d changed: not found", at, len(file))
		}
		if _, err := backup.Check(t.Context(), bytes.NewReader(file[:at])); err == nil {
			t.Errorf("cut off at %d of %d: not found", at, len(file))
		}
	}
	if _, err := backup.Check(t.Context(), bytes.NewReader(append(bytes.Clone(file), 0))); err == nil {
		t.Error("a byte behind the end: not found")
	}
}

func TestADamagedFileLeavesAStoreThatNoEngineOpens(t *testing.T) {
	s, to := embedded(t), embedded(t)
	fill(t, s)
	file := write(t, s)
	if _, err := backup.Restore(t.Context(), to, bytes.NewReader(file[:len(file)-10]), backup.Options{}); !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("Restore = %v, want %v", err, store.ErrCorrupt)
	}
	if _, err := to.Lookup(t.Context(), own.RestoringName); err != nil {
		t.Errorf("the store is not marked: %v", err)
	}
	restore(t, to, file, false)
}

func TestRefusals(t *testing.T) {
	s := embedded(t)
	fill(t, s)
	file, other := write(t, s), write(t, s)
	for _, tt := range []struct {
		name string
		to   func(t *testing.T) backup.Target
		file []byte
		want string
	}{
		{"a store with records", func(t *testing.T) backup.Target { return s }, file, "not empty"},
		{"a store with work, whose map is gone", func(t *testing.T) backup.Target {
			to := embedded(t)
			tok, err := to.Acquire(t.Context(), 1, "a", time.Hour)
			must(t, err)
			must(t, to.Commit(t.Context(), 1, tok, &store.Batch{Number: 1}))
			return to
		}, file, "not empty"},
		{"part of another backup", func(t *testing.T) backup.Target {
			to := embedded(t)
			if _, err := backup.Restore(t.Context(), &mortal{Target: to, left: 9}, bytes.NewReader(other), backup.Options{}); err == nil {
				t.Fatal("it did not die")
			}
			return to
		}, file, "part of another backup"},
		{"a store that a node uses", func(t *testing.T) backup.Target {
			to := embedded(t)
			must(t, to.Announce(t.Context(), "nodes", store.Record{Name: "n1", Value: []byte("{}")}, time.Hour))
			return to
		}, file, "nodes are using the store: n1"},
		{"another file", embeddedOf, []byte(strings.Repeat("a line of a CSV file\n", 100)), "not a backup of weir"},
		{"an empty file", embeddedOf, nil, "not a backup of weir"},
		{"a file of a newer version", embeddedOf, append([]byte("weirbak2"), file[8:]...), "newer version"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			to := tt.to(t)
			before := content(t, to)
			_, err := backup.Restore(t.Context(), to, bytes.NewReader(tt.file), backup.Options{})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Restore = %v, want %q", err, tt.want)
			}
			wantSame(t, content(t, to), before)
		})
	}
	if _, err := backup.Write(t.Context(), embedded(t), io.Discard, ""); !errors.Is(err, backup.ErrEmpty) {
		t.Errorf("Write of an empty store = %v, want %v", err, backup.ErrEmpty)
	}
}

func embeddedOf(t *testing.T) backup.Target { return embedded(t) }

// moving changes a partition while it is copied.
type moving struct {
	store.Snapshot
	change func()
}

func (m moving) Rows(ctx context.Context, p int, yield func(key, value []byte) error) error {
	err := m.Snapshot.Rows(ctx, p, yield)
	if p == 2 {
		m.change()
	}
	return err
}

type movingStore struct {
	store.Portable
	change func()
}

func (m movingStore) Snapshot(ctx context.Context) (store.Snapshot, error) {
	v, err := m.Portable.Snapshot(ctx)
	return moving{v, m.change}, err
}

func TestAWriteToASharedStoreWhileItIsCopiedIsFound(t *testing.T) {
	s := redis(t)
	fill(t, s)
	for _, change := range []func(){
		func() { must(t, s.Append(t.Context(), 0, []byte("late"), store.Claim{})) },
		func() {
			tok, err := s.Acquire(t.Context(), 1, "late", time.Hour)
			must(t, err)
			last, err := s.Last(t.Context(), 1)
			must(t, err)
			must(t, s.Commit(t.Context(), 1, tok, &store.Batch{Number: last.Number + 1}))
		},
	} {
		_, err := backup.Write(t.Context(), movingStore{s, change}, io.Discard, "")
		if err == nil || !strings.Contains(err.Error(), "changed while it was copied") {
			t.Errorf("Write = %v, want it to notice", err)
		}
	}
}
