package engine

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// openCarried opens the block of what a retry carried over for the items of the task.
func (r *run) openCarried() (*block.Items, error) {
	c, t := r.part.engine.cache, r.cut
	return c.Open(&r.ctx, t.Home(r.part.no), c.Entry(stored.Key{ID: t.Bulk, No: t.Block + stored.CarriedBlocks}))
}

// keys fills in the numbers that the items' idempotency keys are made of, where
// they are those of another bulk action.
func (r *run) keys() ([]int64, error) {
	t := r.cut
	old, err := r.openCarried()
	if err != nil {
		return nil, fmt.Errorf("idempotency keys carried over: %w", err)
	}
	nos := make([]int64, len(t.Items))
	for i, at := range t.Items {
		if nos[i], err = strconv.ParseInt(old.ID(int(at)), 10, 64); err != nil {
			return nil, fmt.Errorf("idempotency keys carried over: %w: %w", store.ErrCorrupt, err)
		}
	}
	return nos, nil
}

// carried fills in what a retried bulk action's earlier steps had answered.
func (r *run) carried(items []weir.TaskItem) error {
	t := r.cut
	if t.FirstStep == 0 || t.StepNo != t.FirstStep {
		return nil
	}
	answers, err := r.openCarried()
	if err != nil {
		return fmt.Errorf("answers carried over: %w", err)
	}
	for i := range items {
		if a := block.CarriedAnswer(answers.Data(int(t.Items[i])), t.FirstStep-1); len(a) > 0 {
			items[i].Previous = a
		}
	}
	return nil
}

// loadPrevious reads what the step before answered from the store, where a
// restart or a retry has left the machine without it.
func (r *run) loadPrevious(items []weir.TaskItem) error {
	if err := r.carried(items); err != nil {
		return err
	}
	t, p := r.cut, r.part
	at := make(map[uint16]*weir.TaskItem, len(items))
	for i := range items {
		if items[i].Previous == nil {
			at[t.Items[i]] = &items[i]
		}
	}
	err := partition.ReadResults(stored.At(&r.ctx, p.engine.store, p.no), p.engine.codec, t.Bulk, t.Block, func(x block.Result) error {
		if it := at[x.Item]; it != nil && x.Kind == block.Output && int(x.Step) == t.StepNo-1 {
			it.Previous = slices.Clone(x.Output)
			delete(at, x.Item)
		}
		return nil
	})
	if err != nil || len(at) == 0 {
		return err
	}
	return p.engine.past.Whole(&r.ctx, p.no)
}

// outputs reads what earlier steps answered for the items of a task.
func (r *run) outputs() (func(int, string) []byte, error) {
	t, p := r.cut, r.part
	type place struct {
		item uint16
		step uint8
	}
	found := map[place][]byte{}
	err := partition.ReadResults(stored.At(&r.ctx, p.engine.store, p.no), p.engine.codec, t.Bulk, t.Block, func(x block.Result) error {
		if _, asked := slices.BinarySearch(t.Items, x.Item); asked && x.Kind == block.Output && int(x.Step) < t.StepNo {
			found[place{x.Item, x.Step}] = slices.Clone(x.Output)
		}
		return nil
	})
	if err == nil && len(found) < len(t.Items)*(t.StepNo-t.FirstStep) { // not every step answers
		err = p.engine.past.Whole(&r.ctx, p.no)
	}
	if err != nil {
		return nil, err
	}
	names, items, first := t.Names, slices.Clone(t.Items), t.FirstStep
	var carried *block.Items
	if first > 0 {
		if carried, err = r.openCarried(); err != nil {
			return nil, fmt.Errorf("answers carried over: %w", err)
		}
	}
	return func(i int, step string) []byte {
		no := slices.Index(names, step)
		if no < first && no >= 0 {
			return block.CarriedAnswer(carried.Data(int(items[i])), no)
		}
		return found[place{items[i], uint8(no)}]
	}, nil
}
