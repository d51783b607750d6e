package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/weirhq/weir/store"
)

// layoutName is the registry's record of the newest map.
const layoutName = "map"

// partitionMap says over how many partitions new work is spread. It is changed by
// writing the next generation: new work follows the new one, and partitions that
// it has no more keep their owner and drain in place.
type partitionMap struct {
	Generation uint64 `json:"generation"`
	Partitions int    `json:"partitions"`
	Before     []int  `json:"before,omitempty"` // the numbers of partitions of earlier generations, newest last
}

// most is one more than the highest partition that may hold work.
func (m *partitionMap) most() int { return slices.Max(append([]int{m.Partitions}, m.Before...)) }

// layout is the newest map that this node knows.
type layout struct{ current atomic.Pointer[partitionMap] }

func (l *layout) now() *partitionMap { return l.current.Load() }

// openLayout reads the map, or writes it: the first one of an empty store, or the
// next one if this node was told another number of partitions.
func (e *Engine) openLayout(ctx context.Context) error {
	want := e.opts.Partitions
	for {
		raw, m, err := e.readLayout(ctx)
		if err != nil {
			return err
		}
		switch {
		case m == nil:
			m = &partitionMap{Generation: 1, Partitions: cmp.Or(want, defaultPartitions())}
		case want == 0 || want == m.Partitions:
			return nil
		default:
			m = m.next(want)
		}
		if err := e.writeLayout(ctx, raw, m); err != nil {
			return err
		}
		// Somebody else may have been first: look again.
	}
}

func (m *partitionMap) next(partitions int) *partitionMap {
	before := append(append([]int(nil), m.Before...), m.Partitions)
	return &partitionMap{Generation: m.Generation + 1, Partitions: partitions, Before: before}
}

// readLayout reads the newest map and follows it; nil means that there is none.
func (e *Engine) readLayout(ctx context.Context) ([]byte, *partitionMap, error) {
	raw, err := e.store.Lookup(ctx, layoutName)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the map of partitions: %w", err)
	}
	m := &partitionMap{}
	if err := json.Unmarshal(raw, m); err != nil || m.Partitions < 1 || m.Partitions > maxPartitions {
		return nil, nil, fmt.Errorf("map of partitions %q: %w", raw, store.ErrCorrupt)
	}
	e.layout.current.Store(m)
	return raw, m, nil
}

func (e *Engine) writeLayout(ctx context.Context, old []byte, m *partitionMap) error {
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if _, err := e.store.Swap(ctx, layoutName, old, raw); err != nil {
		return fmt.Errorf("write the map of partitions: %w", err)
	}
	return nil
}
