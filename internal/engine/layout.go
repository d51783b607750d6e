package engine

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

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/route"
	"github.com/weirhq/weir/store"
)

// layoutName is the registry's record of the newest map.
const layoutName = "map"

// partitionMap says over how many partitions new work is spread. It is changed by
// writing the next generation: new work follows the new one, and partitions that
// it has no more keep their owner and drain in place.
//
// Idempotency keys need more care: the same key must not be claimed by the old
// map in one partition and by the new map in another. So a new map is closing at
// first: no partition takes claims of the generation before any more, one after the other. Only
// when all of them are closed, the new map holds.
type partitionMap struct {
	Generation uint64 `json:"generation"`
	Partitions int    `json:"partitions"`
	Most       int    `json:"most"`             // the most partitions of any generation
	Before     []int  `json:"before,omitempty"` // numbers of partitions of earlier generations, each once, the last one last
	Closing    bool   `json:"closing,omitempty"`
	// Restored is when the map was put back into a store that had lost it, in nanoseconds.
	Restored int64 `json:"restored,omitempty"`
	// Losses is acknowledged work that the store has lost, of all partitions. Partitions whose loss is open are not run.
	Losses []storedLoss `json:"losses,omitempty"`
}

// next is the map after m.
func (m *partitionMap) next(partitions int) *partitionMap {
	before := slices.DeleteFunc(slices.Clone(m.Before), func(n int) bool { return n == partitions || n == m.Partitions })
	return &partitionMap{
		Generation: m.Generation + 1, Partitions: partitions, Most: max(m.Most, partitions),
		Before: append(before, m.Partitions), Closing: true, Restored: m.Restored, Losses: m.Losses,
	}
}

// serving is the number of partitions that new work is spread over now, and of which generation that is.
func (m *partitionMap) serving() (partitions int, generation uint64) {
	if m.Closing {
		return m.Before[len(m.Before)-1], m.Generation - 1
	}
	return m.Partitions, m.Generation
}

func parseMap(raw []byte) (*partitionMap, error) {
	m := &partitionMap{}
	if err := json.Unmarshal(raw, m); err != nil {
		return nil, fmt.Errorf("map of partitions %q: %w", raw, store.ErrCorrupt)
	}
	return m, m.check()
}

// check refuses a map that cannot be.
func (m *partitionMap) check() error {
	if m.Partitions < 1 || m.Most < m.Partitions || m.Most > maxPartitions || m.Closing && len(m.Before) == 0 {
		return fmt.Errorf("map of partitions %+v: %w", *m, store.ErrCorrupt)
	}
	return nil
}

// layout is the newest map that this node knows, and what follows from it.
type layout struct {
	current atomic.Pointer[partitionMap]
	read    atomic.Pointer[time.Time] // when it was read
	tables  sync.Map                  // number of partitions -> *route.Table
}

func (l *layout) now() *partitionMap { return l.current.Load() }

// table spreads tenants over a number of partitions.
func (l *layout) table(partitions int) *route.Table {
	if t, ok := l.tables.Load(partitions); ok {
		return t.(*route.Table)
	}
	t, _ := l.tables.LoadOrStore(partitions, route.NewTable(partitions))
	return t.(*route.Table)
}

// openLayout reads the map, or writes it: the first one of an empty store, or the
// next one if this node was told another number of partitions.
func (e *Engine) openLayout(ctx context.Context) error {
	raw, m, err := e.readLayout(ctx)
	if err != nil {
		return err
	}
	if m == nil {
		n := cmp.Or(e.opts.Partitions, defaultPartitions())
		if err := e.writeLayout(ctx, raw, &partitionMap{Generation: 1, Partitions: n, Most: n}); err != nil {
			return err
		}
		if _, m, err = e.readLayout(ctx); err != nil { // another node may have been first
			return err
		}
	}
	was := *m
	if err := e.changeLayout(ctx, cmp.Or(e.opts.Partitions, m.Partitions)); err != nil {
		return err
	}
	e.tellLayout(ctx, &was)
	return nil
}

// tellLayout logs what became of the number of partitions that this node was
// started with. Partitions beyond it stay: bulk actions that are kept live there.
func (e *Engine) tellLayout(ctx context.Context, was *partitionMap) {
	now := e.layout.now()
	if now.Partitions == was.Partitions && now.Partitions == now.Most {
		return
	}
	e.log.LogAttrs(ctx, slog.LevelInfo, "new work is spread over fewer or more partitions than before; work that is there stays where it is",
		slog.Int("partitions", now.Partitions), slog.Int("before", was.Partitions), slog.Int("kept", now.Most))
}

// SetPartitions changes the number of partitions while all nodes run. New work is spread
// over the new number as soon as it returns; work that is there ends where it is.
// Options.Partitions of nodes that start later should say the same, or nothing.
func (e *Engine) SetPartitions(ctx context.Context, n int) error {
	if n < 1 || n > maxPartitions {
		return &weir.FieldError{
			Code: "out_of_range", Field: "partitions", Problem: fmt.Sprintf("%d is not between 1 and %d", n, maxPartitions),
			Fix: "four for each core of all nodes together is a good start",
		}
	}
	if err := e.changeLayout(ctx, n); err != nil {
		return fmt.Errorf("set partitions: %w", err)
	}
	e.tell(ctx, "map", n)
	return nil
}

// changeLayout makes the map one of n partitions, and returns when it holds.
func (e *Engine) changeLayout(ctx context.Context, n int) error {
	for {
		raw, m, err := e.readLayout(ctx)
		switch {
		case err != nil:
			return err
		case m == nil:
			err = e.restoreLayout(ctx)
		case m.Closing:
			err = e.closeClaims(ctx, raw, m)
		case m.Partitions == n:
			return nil
		default:
			err = e.writeLayout(ctx, raw, m.next(n))
		}
		if err != nil {
			return err
		}
	}
}

// closeClaims finishes a change of the map. Several may do so at once, as when the first died over it.
func (e *Engine) closeClaims(ctx context.Context, raw []byte, m *partitionMap) error {
	for p := range m.Most {
		if err := e.store.CloseClaims(ctx, p, m.Generation); err != nil {
			return fmt.Errorf("change the map of partitions: %w", err)
		}
	}
	done := *m
	done.Closing = false
	return e.writeLayout(ctx, raw, &done)
}

// restoreLayout puts the map back into a store that was emptied, and reads it: another node may
// have been first. What else is missing, the owners of the partitions find out.
func (e *Engine) restoreLayout(ctx context.Context) error {
	m := *e.layout.now()
	e.log.LogAttrs(ctx, slog.LevelError, "the store has lost the map of partitions, putting it back", slog.Uint64("generation", m.Generation))
	m.Closing = m.Closing || m.Generation > 1 // which claims are refused is lost, too
	m.Restored = time.Now().UnixNano()
	if err := e.writeLayout(ctx, nil, &m); err != nil {
		return err
	}
	_, _, err := e.readLayout(ctx)
	return err
}

// readLayout reads the newest map and follows it; nil means that there is none.
func (e *Engine) readLayout(ctx context.Context) ([]byte, *partitionMap, error) {
	asked := time.Now()
	raw, err := e.store.Lookup(ctx, layoutName)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the map of partitions: %w", err)
	}
	m, err := parseMap(raw)
	if err != nil {
		return nil, nil, err
	}
	if known := e.layout.now(); known != nil && known.Generation > m.Generation { // the store was set back: finish that change again
		again := *known
		again.Closing, again.Restored, again.Losses = true, m.Restored, m.Losses
		m = &again
	}
	for _, p := range e.losses.learn(m.Losses) {
		e.past.forget(p) // the partition has begun again without what this node remembers of it
	}
	e.layout.current.Store(m)
	e.layout.read.Store(&asked)
	return raw, m, nil
}

// writeLayout replaces the map, unless another node did: callers that must know read it again.
func (e *Engine) writeLayout(ctx context.Context, old []byte, m *partitionMap) error {
	whole := *m
	whole.Losses = e.losses.all()
	raw, err := json.Marshal(&whole)
	if err != nil {
		return err
	}
	if _, err := e.store.Swap(ctx, layoutName, old, raw); err != nil {
		return fmt.Errorf("write the map of partitions: %w", err)
	}
	return nil
}
