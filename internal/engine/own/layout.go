package own

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir/internal/core/route"
	"github.com/weirhq/weir/internal/engine/loss"
	"github.com/weirhq/weir/internal/engine/recall"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// MapName is the registry's record of the newest map.
const MapName = "map"

// RestoringName is the registry's record of a backup that is being restored: what the store has is not whole yet.
const RestoringName = "restoring"

// Map says over how many partitions new work is spread. It is changed by
// writing the next generation: new work follows the new one, and partitions that
// it has no more keep their owner and drain in place.
//
// Idempotency keys need more care: the same key must not be claimed by the old
// map in one partition and by the new map in another. So a new map is closing at
// first: no partition takes claims of the generation before any more, one after the other. Only
// when all of them are closed, the new map holds.
type Map struct {
	Format     int    `json:"format"`
	Generation uint64 `json:"generation"`
	Partitions int    `json:"partitions"`
	Most       int    `json:"most"`             // the most partitions of any generation
	Before     []int  `json:"before,omitempty"` // numbers of partitions of earlier generations, each once, the last one last
	Closing    bool   `json:"closing,omitempty"`
	// Restored is when the map was put back into a store that had lost it, in nanoseconds.
	Restored int64 `json:"restored,omitempty"`
	// Losses is acknowledged work that the store has lost, of all partitions. Partitions whose loss is open are not run.
	Losses []loss.Loss `json:"losses,omitempty"`
	// Migrating is set while the store is brought to Format, and Migrated lists what was.
	Migrating *Migrating `json:"migrating,omitempty"`
	Migrated  []Migrated `json:"migrated,omitempty"`
}

// next is the map after m.
func (m *Map) next(partitions int) *Map {
	before := slices.DeleteFunc(slices.Clone(m.Before), func(n int) bool { return n == partitions || n == m.Partitions })
	return &Map{
		Format: m.Format, Generation: m.Generation + 1, Partitions: partitions, Most: max(m.Most, partitions),
		Before: append(before, m.Partitions), Closing: true, Restored: m.Restored, Losses: m.Losses,
		Migrated: m.Migrated,
	}
}

// Serving returns the number of partitions that new work is spread over now, and of which generation that is.
func (m *Map) Serving() (partitions int, generation uint64) {
	if m.Closing {
		return m.Before[len(m.Before)-1], m.Generation - 1
	}
	return m.Partitions, m.Generation
}

// ReadMap reads the newest map of a store; [store.ErrNotFound] if no engine has ever used it.
func ReadMap(ctx context.Context, s store.Registry) (*Map, error) {
	raw, err := s.Lookup(ctx, MapName)
	if err != nil {
		return nil, err
	}
	return ParseMap(raw)
}

// ParseMap reads a map as it is stored, and refuses one of another format with a [*FormatError].
func ParseMap(raw []byte) (*Map, error) {
	m, err := ReadableMap(raw)
	if err == nil && (m.Format != StoredFormat || m.Migrating != nil) {
		err = &FormatError{Format: m.Format, Migrating: m.Migrating}
	}
	return m, err
}

// ReadableMap reads a map as it is stored, also one of an earlier format that this version can migrate.
func ReadableMap(raw []byte) (*Map, error) {
	m := &Map{}
	if err := json.Unmarshal(raw, m); err != nil {
		return nil, fmt.Errorf("map of partitions %q: %w", raw, store.ErrCorrupt)
	}
	if err := CheckFormat(m.Format); err != nil {
		return nil, err
	}
	return m, m.check()
}

// check refuses a map that cannot be.
func (m *Map) check() error {
	if m.Partitions < 1 || m.Most < m.Partitions || m.Most > stored.MaxPartitions || m.Closing && len(m.Before) == 0 {
		return fmt.Errorf("map of partitions %+v: %w", *m, store.ErrCorrupt)
	}
	return nil
}

// Layout knows the newest map of partitions, and keeps the one in the store.
type Layout struct {
	store  store.Store
	past   *recall.Past
	losses *loss.Book
	log    *slog.Logger

	current atomic.Pointer[Map]
	read    atomic.Pointer[time.Time] // when it was read
	tables  sync.Map                  // number of partitions -> *route.Table
}

// OpenLayout reads the map, or writes it: the first one of an empty store, or the next one if the number of partitions
// is not the one that is wanted; 0 takes what is there. What the store itself has lost is noted.
func OpenLayout(ctx context.Context, s store.Store, partitions int, past *recall.Past, losses *loss.Book,
	log *slog.Logger) (*Layout, error) {
	l := &Layout{store: s, past: past, losses: losses, log: log}
	if err := l.open(ctx, partitions); err != nil {
		return nil, err
	}
	return l, l.noteStoreLosses(ctx)
}

// Now returns the newest map that this node knows.
func (l *Layout) Now() *Map { return l.current.Load() }

// Table spreads tenants over a number of partitions.
func (l *Layout) Table(partitions int) *route.Table {
	if t, ok := l.tables.Load(partitions); ok {
		return t.(*route.Table)
	}
	t, _ := l.tables.LoadOrStore(partitions, route.NewTable(partitions))
	return t.(*route.Table)
}

func (l *Layout) open(ctx context.Context, partitions int) error {
	switch _, err := l.store.Lookup(ctx, RestoringName); {
	case err == nil:
		return errors.New("the store holds part of a backup: the restore has not ended; run it again until it has")
	case !errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("read whether the store is being restored: %w", err)
	}
	raw, m, err := l.Read(ctx)
	if err != nil {
		return err
	}
	if m == nil {
		n := cmp.Or(partitions, newPartitions)
		if err := l.write(ctx, raw, &Map{Format: StoredFormat, Generation: 1, Partitions: n, Most: n}); err != nil {
			return err
		}
		if _, m, err = l.Read(ctx); err != nil { // another node may have been first
			return err
		}
	}
	was := *m
	if err := l.Change(ctx, cmp.Or(partitions, m.Partitions)); err != nil {
		return err
	}
	l.tell(ctx, &was)
	return nil
}

// tell logs what became of the number of partitions that this node was
// started with. Partitions beyond it stay: bulk actions that are kept live there.
func (l *Layout) tell(ctx context.Context, was *Map) {
	now := l.Now()
	if now.Partitions == was.Partitions && now.Partitions == now.Most {
		return
	}
	l.log.LogAttrs(ctx, slog.LevelInfo, "new work is spread over fewer or more partitions than before; work that is "+
		"there stays where it is",
		slog.Int("partitions", now.Partitions), slog.Int("before", was.Partitions), slog.Int("kept", now.Most))
}

// newPartitions is the number of partitions of a new store: enough for fleets of some dozen nodes, whichever node comes
// first. One that is idle costs next to nothing.
const newPartitions = 64

// Change makes the map one of n partitions, and returns when it holds.
func (l *Layout) Change(ctx context.Context, n int) error {
	for {
		raw, m, err := l.Read(ctx)
		switch {
		case err != nil:
			return err
		case m == nil:
			err = l.restore(ctx)
		case m.Closing:
			err = l.closeClaims(ctx, raw, m)
		case m.Partitions == n:
			return nil
		default:
			err = l.write(ctx, raw, m.next(n))
		}
		if err != nil {
			return err
		}
	}
}

// ChangeIf does the same as Change if allow returns nil for the map that is there, which no other change replaces in
// between.
func (l *Layout) ChangeIf(ctx context.Context, n int, allow func(*Map) error) error {
	for {
		raw, m, err := l.Read(ctx)
		if err == nil && m == nil {
			if err = l.restore(ctx); err == nil {
				continue
			}
		}
		if err == nil {
			err = allow(m)
		}
		if err != nil || m.Partitions == n {
			return err
		}
		next := m.next(n)
		if err := l.write(ctx, raw, next); err != nil {
			return err
		}
		if _, m, err = l.Read(ctx); err != nil {
			return err
		}
		if m != nil && m.Generation == next.Generation && m.Partitions == n { // else another change was faster
			return l.Change(ctx, n)
		}
	}
}

// Settled returns the newest map when it holds: a change that is under way is finished first.
func (l *Layout) Settled(ctx context.Context) (*Map, error) {
	raw, m, err := l.Read(ctx)
	switch {
	case err != nil:
	case m == nil:
		err = l.restore(ctx)
	case m.Closing:
		err = l.closeClaims(ctx, raw, m)
	}
	return l.Now(), err
}

// closeClaims finishes a change of the map. Several may do so at once, as when the first died over it.
func (l *Layout) closeClaims(ctx context.Context, raw []byte, m *Map) error {
	for p := range m.Most {
		if err := l.store.CloseClaims(ctx, p, m.Generation); err != nil {
			return fmt.Errorf("change the map of partitions: %w", err)
		}
	}
	done := *m
	done.Closing = false
	return l.write(ctx, raw, &done)
}

// restore puts the map back into a store that was emptied, and reads it: another node may
// have been first. What else is missing, the owners of the partitions find out.
func (l *Layout) restore(ctx context.Context) error {
	m := *l.Now()
	l.log.LogAttrs(ctx, slog.LevelError, "the store has lost the map of partitions, putting it back",
		slog.Uint64("generation", m.Generation))
	m.Closing = m.Closing || m.Generation > 1 // which claims are refused is lost, too
	m.Restored = time.Now().UnixNano()
	if err := l.write(ctx, nil, &m); err != nil {
		return err
	}
	_, _, err := l.Read(ctx)
	return err
}

// Read reads the newest map and follows it; nil means that there is none.
func (l *Layout) Read(ctx context.Context) ([]byte, *Map, error) {
	asked := time.Now()
	raw, err := l.store.Lookup(ctx, MapName)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, nil, fmt.Errorf("read the map of partitions: %w", err)
	}
	m, err := l.follow(asked, raw)
	return raw, m, err
}

// follow follows a map that was read after asked; nil means that there is none.
func (l *Layout) follow(asked time.Time, raw []byte) (*Map, error) {
	if raw == nil {
		return nil, nil //nolint:nilnil // the caller writes one
	}
	m, err := ParseMap(raw)
	if err != nil {
		return nil, err
	}
	if known := l.Now(); known != nil && known.Generation > m.Generation { // the store was set back: finish that change again
		again := *known
		again.Closing, again.Restored, again.Losses = true, m.Restored, m.Losses
		m = &again
	}
	for _, p := range l.losses.Learn(m.Losses) {
		l.past.Forget(p) // the partition has begun again without what this node remembers of it
	}
	l.current.Store(m)
	l.read.Store(&asked)
	return m, nil
}

// write replaces the map, unless another node did: callers that must know read it again.
func (l *Layout) write(ctx context.Context, old []byte, m *Map) error {
	whole := *m
	whole.Losses = l.losses.All()
	raw, err := json.Marshal(&whole)
	if err != nil {
		return err
	}
	if _, err := l.store.Swap(ctx, MapName, old, raw); err != nil {
		return fmt.Errorf("write the map of partitions: %w", err)
	}
	return nil
}
