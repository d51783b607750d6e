package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/store"
)

const (
	holder  = "restore" // of the leases
	holdFor = 10 * time.Second

	mostRows     = 2000    // of a commit
	mostBytes    = 1 << 20 // of a commit, or of blocks written at once
	mostClaims   = 5000    // until their messages are removed
	claimsAtOnce = 64
	messagePage  = 1000
)

// filler writes the content of a file to a store, one partition after the other.
type filler struct {
	s       Target
	taken   Header
	moved   bool
	layout  []byte         // the map of partitions
	numbers map[int]uint64 // of the last commits in the copy

	// Of the partition that is being filled; none if number is 0.
	p      int
	tok    store.Token
	head   store.Head
	number uint64 // of the last commit
	batch  store.Batch
	size   int // of the batch
	blocks run
	claims claims
}

// run is blocks of one bulk action, one number after the other, that are written together.
type run struct {
	id    weir.BulkID
	first uint32
	list  [][]byte
	size  int
}

// claims are made by messages, which are removed at once: the contract has no other way to make one.
type claims struct {
	made int // since messages were removed last
	wg   sync.WaitGroup
	slot chan struct{}
	mu   sync.Mutex
	err  error
}

// partition ends the one before and begins with the next: empty, with the numbers of the copy.
func (f *filler) partition(ctx context.Context, p int, h store.Head) error {
	if err := f.finish(ctx); err != nil {
		return err
	}
	if p != store.Control && p >= f.taken.Partitions {
		return fmt.Errorf("%w: partition %d of %d", store.ErrCorrupt, p, f.taken.Partitions)
	}
	if f.numbers == nil {
		f.numbers = map[int]uint64{}
	}
	f.numbers[p] = h.Number
	var err error
	if f.tok, err = f.s.Acquire(ctx, p, holder, holdFor); err != nil {
		return fmt.Errorf("restore partition %d: %w", p, err)
	}
	last, err := f.s.Last(ctx, p)
	if err != nil {
		return err
	}
	f.p, f.head, f.number = p, h, last.Number
	f.claims.slot = make(chan struct{}, claimsAtOnce)
	if err := f.clear(ctx); err != nil {
		return err
	}
	want := h.Number
	if !f.moved {
		want += gap
	}
	if want > f.number {
		err = f.s.Advance(ctx, p, f.tok, want)
		f.number = want
	}
	return err
}

// clear removes what a restore left that died. Of claims nothing has to be removed: they are the same.
func (f *filler) clear(ctx context.Context) error {
	owners, err := f.s.BlockOwners(ctx, f.p)
	if err != nil {
		return err
	}
	for _, id := range owners {
		if err := f.s.DeleteBlocks(ctx, f.p, id); err != nil {
			return err
		}
	}
	for {
		rows, err := f.s.Page(ctx, f.p, store.Range{}, mostRows)
		if err != nil {
			return err
		}
		for _, r := range rows {
			f.batch.Delete = append(f.batch.Delete, r.Key)
		}
		if len(rows) == 0 {
			return f.dropMessages(ctx)
		}
		if err := f.commit(ctx); err != nil {
			return err
		}
	}
}

// dropMessages removes what is in the inbox.
func (f *filler) dropMessages(ctx context.Context) error {
	for {
		found, err := f.s.Peek(ctx, f.p, f.batch.Ack, messagePage)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			break
		}
		f.batch.Ack = found[len(found)-1].Seq
	}
	if f.batch.Ack == 0 {
		return nil
	}
	return f.commit(ctx)
}

// commit writes the rows collected.
func (f *filler) commit(ctx context.Context) error {
	f.number++
	f.batch.Number = f.number
	err := f.s.Commit(ctx, f.p, f.tok, &f.batch)
	f.batch, f.size = store.Batch{Set: f.batch.Set[:0], Delete: f.batch.Delete[:0]}, 0
	return err
}

func (f *filler) block(ctx context.Context, id weir.BulkID, no uint32, block []byte) error {
	b := &f.blocks
	if id != b.id || no != b.first+uint32(len(b.list)) || b.size > mostBytes {
		if err := f.putBlocks(ctx); err != nil {
			return err
		}
		b.id, b.first = id, no
	}
	b.list, b.size = append(b.list, bytes.Clone(block)), b.size+len(block)
	return nil
}

func (f *filler) putBlocks(ctx context.Context) error {
	b := &f.blocks
	if len(b.list) == 0 {
		return nil
	}
	err := f.s.PutBlocks(ctx, f.p, b.id, b.first, b.list)
	f.blocks = run{}
	return err
}

func (f *filler) claim(ctx context.Context, key string, value []byte) error {
	c, claim := &f.claims, store.Claim{Key: key, Value: bytes.Clone(value), Generation: f.head.Generation}
	c.made++
	c.slot <- struct{}{}
	c.wg.Go(func() {
		defer func() { <-c.slot }()
		if err := f.make(ctx, claim); err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.err = errors.Join(c.err, err)
		}
	})
	if c.made < mostClaims {
		return nil
	}
	return f.endClaims(ctx)
}

func (f *filler) make(ctx context.Context, c store.Claim) error {
	err := f.s.Append(ctx, f.p, nil, c)
	if held, ok := errors.AsType[*store.ClaimedError](err); ok {
		if bytes.Equal(held.Value, c.Value) {
			return nil // of a restore that died, or it came twice
		}
		return fmt.Errorf("claim %q: %w with another value", c.Key, err)
	}
	return err
}

// endClaims waits for the claims and removes their messages.
func (f *filler) endClaims(ctx context.Context) error {
	c := &f.claims
	if c.made == 0 {
		return nil
	}
	c.made = 0
	c.wg.Wait()
	if c.err != nil {
		return c.err
	}
	return f.dropMessages(ctx)
}

func (f *filler) message(ctx context.Context, body []byte) error {
	if err := f.endClaims(ctx); err != nil {
		return err
	}
	return f.s.Append(ctx, f.p, body, store.Claim{})
}

func (f *filler) row(ctx context.Context, key, value []byte) error {
	if err := f.endClaims(ctx); err != nil {
		return err
	}
	f.batch.Set = append(f.batch.Set, store.Row{Key: bytes.Clone(key), Value: bytes.Clone(value)})
	f.size += len(key) + len(value)
	if len(f.batch.Set) < mostRows && f.size < mostBytes {
		return nil
	}
	return f.commit(ctx)
}

func (f *filler) record(ctx context.Context, name string, value []byte) error {
	if name == own.MapName {
		f.layout = bytes.Clone(value)
		return nil // it is the last that is written
	}
	return put(ctx, f.s, name, bytes.Clone(value))
}

// finish ends the partition that is being filled.
func (f *filler) finish(ctx context.Context) error {
	if f.tok == (store.Token{}) {
		return nil
	}
	err := f.putBlocks(ctx)
	if err == nil {
		err = f.endClaims(ctx)
	}
	if err == nil && len(f.batch.Set) > 0 {
		err = f.commit(ctx)
	}
	if err == nil && f.head.Generation > 0 {
		err = f.s.CloseClaims(ctx, f.p, f.head.Generation)
	}
	if err == nil {
		err = f.s.Release(ctx, f.p, f.tok)
	}
	if err != nil {
		return fmt.Errorf("restore partition %d: %w", f.p, err)
	}
	f.tok = store.Token{}
	return nil
}
