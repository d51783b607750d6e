package service

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/block"
	"github.com/weirhq/weir/internal/partition"
	"github.com/weirhq/weir/internal/report"
	"github.com/weirhq/weir/store"
)

// reader reads the items of a bulk action from any of them on, block by block:
// what it holds in memory is one block, whatever the bulk action's size.
type reader struct {
	store  store.Store
	codec  *block.Codec
	home   int // partition that has the items
	spec   *partition.Created
	status *partition.Status
}

// row is an item of a bulk action as it was read.
type row struct {
	report.Row
	// done says of each step whether the item passed it in this bulk action, and outputs has what the step answered.
	done    []bool
	outputs [][]byte
}

// stored is how the rows of a partition are read.
type stored struct {
	ctx       context.Context
	store     store.State
	partition int
}

// Get implements partition.Rows.
func (r stored) Get(key []byte) ([]byte, error) { return r.store.Get(r.ctx, r.partition, key) }

// Scan implements partition.Rows.
func (r stored) Scan(prefix []byte, yield func(key, value []byte) error) error {
	return r.store.Scan(r.ctx, r.partition, prefix, yield)
}

const (
	unreadFor   = 2 * time.Second // how long it is waited for the owner to read of a new bulk action
	unreadEvery = 10 * time.Millisecond
	// carriedBlocks is where a retry has what its items bring along, beside the blocks of the items.
	carriedBlocks = 1 << 31
)

// read opens a bulk action that was submitted. The caller closes the reader.
func (s *Service) read(ctx context.Context, id string) (*reader, error) {
	if _, err := s.Bulk(ctx, id); err != nil {
		return nil, err
	}
	u, err := ulid.ParseStrict(strings.ToUpper(strings.TrimPrefix(id, "ba_")))
	if err != nil {
		return nil, fmt.Errorf("bulk action %q: %w", id, weir.ErrNotFound)
	}
	r := &reader{store: s.opts.Store, home: int(binary.BigEndian.Uint16(u[6:8]))}
	if err := r.find(ctx, weir.BulkID(id)); err != nil {
		return nil, err
	}
	r.codec, err = block.NewCodec()
	return r, err
}

func (r *reader) close() { r.codec.Close() }

// find reads what the bulk action is. One that was accepted a moment ago is waited for.
func (r *reader) find(ctx context.Context, id weir.BulkID) (err error) {
	brief, cancel := context.WithTimeout(ctx, unreadFor)
	defer cancel()
	tick := time.NewTicker(unreadEvery)
	defer tick.Stop()
	for {
		r.spec, r.status, err = partition.ReadStatus(stored{ctx, r.store, r.home}, id)
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		select {
		case <-tick.C:
		case <-brief.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return &Refusal{Code: "in_progress", Detail: fmt.Sprintf("%s was accepted, and no node has begun with it", id), Fix: "ask again", RetryAfter: time.Second}
		}
	}
}

// rows yields the items from number at on. Blocks of which want says that they
// have nothing of interest are not opened; nil: all are. After each block, and
// before the next, turn is asked whether to go on; nil: always.
func (r *reader) rows(ctx context.Context, at int64, want func(*block.State) bool, turn func(next int64) bool) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		if at >= r.spec.Items {
			return
		}
		no, skip := r.spec.Locate(max(at, 0))
		for ; no < r.spec.Blocks(); no++ {
			list, err := r.block(ctx, no, want)
			if err != nil {
				yield(row{}, fmt.Errorf("items of %s: %w", r.spec.ID, err))
				return
			}
			for i := min(skip, len(list)); i < len(list); i++ {
				if !yield(list[i], nil) {
					return
				}
			}
			skip = 0
			if turn != nil && !turn(r.spec.Position(no)+int64(r.spec.BlockSize(no))) {
				return
			}
		}
	}
}

// block reads one block; nil if it has nothing that is wanted.
func (r *reader) block(ctx context.Context, no uint32, want func(*block.State) bool) ([]row, error) {
	state, place, err := r.state(ctx, no)
	if err != nil || want != nil && !want(state) {
		return nil, err
	}
	items, err := r.open(ctx, no)
	if err != nil {
		return nil, err
	}
	list := make([]row, items.Len())
	base := r.spec.Position(no)
	for i := range list {
		list[i] = r.row(items, state, i)
		list[i].No, list[i].KeyNo = base+int64(i), base+int64(i)
	}
	if err := r.carried(ctx, no, list); err != nil {
		return nil, err
	}
	err = partition.ReadResults(stored{ctx, r.store, place}, r.codec, r.spec.ID, no, func(x block.Result) error {
		list[x.Item].fillIn(x)
		return nil
	})
	return list, err
}

func (r *reader) open(ctx context.Context, no uint32) (*block.Items, error) {
	raw, err := r.store.GetBlock(ctx, r.home, r.spec.ID, no)
	if err != nil {
		return nil, fmt.Errorf("block %d: %w", no, err)
	}
	items, err := r.codec.Open(raw)
	if err != nil {
		return nil, fmt.Errorf("block %d: %w: %w", no, store.ErrCorrupt, err)
	}
	return items, nil
}

// state is where the items of a block are, and the partition that says so.
func (r *reader) state(ctx context.Context, no uint32) (*block.State, int, error) {
	places := []int{r.home}
	if len(r.spec.Shards) > 0 {
		places = r.spec.Shards
	}
	for _, p := range places {
		s, err := partition.ReadBlock(stored{ctx, r.store, p}, r.spec, no)
		if !errors.Is(err, store.ErrNotFound) {
			return s, p, err
		}
	}
	fresh := &block.State{Size: r.spec.BlockSize(no), Passed: make([]block.Set, len(r.spec.Steps))}
	for i := range r.spec.FirstStep {
		fresh.Passed[i].Fill(fresh.Size)
	}
	return fresh, r.home, nil
}

// row is what the block's state alone says of an item.
func (r *reader) row(items *block.Items, s *block.State, i int) row {
	steps := r.spec.Steps
	x := row{Row: report.Row{ID: items.ID(i), Data: items.Data(i), Attempts: 1}, done: make([]bool, len(steps)), outputs: make([][]byte, len(steps))}
	at := 0
	for k := range steps {
		if s.Passed[k].Has(i) {
			x.done[k] = k >= r.spec.FirstStep
			at = min(k+1, len(steps)-1)
		}
	}
	x.Step = steps[at]
	switch {
	case s.Passed[len(steps)-1].Has(i):
		x.State = report.Done
	case s.Failed.Has(i):
		x.State = report.Failed
	case s.LeftOut.Has(i):
		x.State = report.Cancelled
	case r.status.State.Final():
		x.State, x.Reason, x.Attempts = report.Cancelled, r.status.CancelCause, 0
	default:
		x.State, x.Attempts = report.Ready, 0
		x.waits(s, i)
	}
	return x
}

// waits notes that an item waits for another attempt.
func (x *row) waits(s *block.State, i int) {
	for k := range s.Retries {
		if again := &s.Retries[k]; again.Items.Has(i) {
			x.State, x.Reason, x.Attempts = report.Waiting, "retry", int(again.Attempt)-1
		}
	}
}

// fillIn adds what an action answered.
func (x *row) fillIn(b block.Result) {
	x.Attempts = max(x.Attempts, int(b.Attempts))
	switch b.Kind {
	case block.Output:
		if len(b.Output) > 0 {
			x.Output = slices.Clone(b.Output) // later steps come later
			x.outputs[b.Step] = x.Output
		}
	case block.Failure:
		x.Code, x.Message, x.Attempts = b.Code, b.Message, int(b.Attempts) // at the step that failed
	case block.LeftOut:
		x.Reason, x.Attempts = b.Code, int(b.Attempts)
	}
}

// carried fills in what the items of a retry brought along.
func (r *reader) carried(ctx context.Context, no uint32, list []row) error {
	if r.spec.FirstStep == 0 && r.spec.KeysOf == "" {
		return nil
	}
	along, err := r.open(ctx, no+carriedBlocks)
	if err != nil {
		return fmt.Errorf("carried over: %w", err)
	}
	for i := range list {
		for step := range r.spec.FirstStep {
			if a := block.CarriedAnswer(along.Data(i), step, r.spec.FirstStep); len(a) > 0 {
				list[i].Output, list[i].outputs[step] = a, a
			}
		}
		if r.spec.KeysOf != "" {
			if list[i].KeyNo, err = strconv.ParseInt(along.ID(i), 10, 64); err != nil {
				return fmt.Errorf("idempotency keys carried over: %w: %w", store.ErrCorrupt, err)
			}
		}
	}
	return nil
}

// key is the idempotency key of an item at a step.
func (r *reader) key(x *row, step int) string {
	if r.spec.KeysOf != "" {
		return weir.ItemKey(r.spec.KeysOf, step, x.KeyNo)
	}
	return weir.ItemKey(r.spec.ID, step, x.No)
}
