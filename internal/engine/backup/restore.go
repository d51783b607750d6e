package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine/loss"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/store"
)

// Options say how a backup is restored.
type Options struct {
	// Moved says that the former store did nothing after the copy, and will not: it was stopped before, and is not used
	// again. Nothing is lost then.
	Moved bool
}

// Target is a store that a backup can be written to.
type Target interface {
	store.Store
	store.Portable
}

// gap is how far the numbers of commits are beyond those of the copy, unless it was moved: the former store has given the
// next numbers to commits that are not in the copy, and events that were delivered carry them.
const gap = 1 << 32

// Check reads a whole file and returns what it has.
func Check(ctx context.Context, r io.Reader) (Summary, error) {
	return read(ctx, r, func(Header) (sink, error) { return nothing{}, nil })
}

// Restore writes a file to a store, which must be empty, or hold a part of the same file from a restore that died.
func Restore(ctx context.Context, s Target, r io.Reader, o Options) (Summary, error) {
	f := &filler{s: s, moved: o.Moved}
	defer f.claims.wg.Wait()
	sum, err := read(ctx, r, func(h Header) (sink, error) {
		if err := begin(ctx, s, h); err != nil {
			return nil, err
		}
		f.taken = h
		return f, nil
	})
	if err != nil {
		return sum, err
	}
	return sum, f.end(ctx)
}

// sink takes the content of a file in its order.
type sink interface {
	partition(ctx context.Context, p int, h store.Head) error
	block(ctx context.Context, id weir.BulkID, no uint32, block []byte) error
	claim(ctx context.Context, key string, value []byte) error
	message(ctx context.Context, body []byte) error
	row(ctx context.Context, key, value []byte) error
	record(ctx context.Context, name string, value []byte) error
}

// nothing takes everything and does nothing.
type nothing struct{}

func (nothing) partition(context.Context, int, store.Head) error         { return nil }
func (nothing) block(context.Context, weir.BulkID, uint32, []byte) error { return nil }
func (nothing) claim(context.Context, string, []byte) error              { return nil }
func (nothing) message(context.Context, []byte) error                    { return nil }
func (nothing) row(context.Context, []byte, []byte) error                { return nil }
func (nothing) record(context.Context, string, []byte) error             { return nil }

// read reads a file to its end and gives what it has to a sink.
func read(ctx context.Context, r io.Reader, open func(Header) (sink, error)) (sum Summary, err error) {
	in, err := newReader(r)
	if err != nil {
		return sum, err
	}
	defer in.close()
	if sum.Header, err = in.header(); err != nil {
		return sum, err
	}
	to, err := open(sum.Header)
	if err != nil {
		return sum, err
	}
	for {
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		kind, field, err := in.next()
		if err != nil {
			return sum, err
		}
		if kind == kindEnd {
			sum.Counts = in.counts
			return sum, in.end(field[0])
		}
		if err := give(ctx, to, kind, field); err != nil {
			return sum, err
		}
	}
}

func (r *reader) header() (h Header, err error) {
	kind, field, err := r.next()
	switch {
	case err != nil:
		return h, err
	case kind != kindHeader:
		return h, fmt.Errorf("%w: no header", store.ErrCorrupt)
	}
	if err := json.Unmarshal(field[0], &h); err != nil || h.ID == "" || h.Partitions < 1 {
		return h, fmt.Errorf("%w: header %q", store.ErrCorrupt, field[0])
	}
	if own.CheckFormat(h.Format) != nil {
		return h, fmt.Errorf("the backup has data of format %d, and this version of weir reads formats %d to %d; nothing was changed: "+
			"restore it with version %s, which wrote it, or a newer one", h.Format, own.OldestFormat, own.StoredFormat, h.Version)
	}
	return h, nil
}

// end compares what was read with what was written.
func (r *reader) end(raw []byte) error {
	var c Counts
	if err := json.Unmarshal(raw, &c); err != nil || c != r.counts {
		return fmt.Errorf("%w: the file has %+v, and says %s", store.ErrCorrupt, r.counts, raw)
	}
	return r.ended()
}

// give hands one entry on.
func give(ctx context.Context, to sink, kind byte, field [3][]byte) error {
	switch kind {
	case kindPartition:
		p, err := parseNumber(field[0])
		n, err2 := parseNumber(field[1])
		g, err3 := parseNumber(field[2])
		if err := errors.Join(err, err2, err3); err != nil {
			return err
		}
		return to.partition(ctx, int(p), store.Head{Number: n, Generation: g})
	case kindBlock:
		no, err := parseNumber(field[1])
		if err != nil {
			return err
		}
		return to.block(ctx, weir.BulkID(field[0]), uint32(no), field[2])
	case kindClaim:
		return to.claim(ctx, string(field[0]), field[1])
	case kindMessage:
		return to.message(ctx, field[0])
	case kindRow:
		return to.row(ctx, field[0], field[1])
	case kindRecord:
		return to.record(ctx, string(field[0]), field[1])
	}
	return fmt.Errorf("%w: a second header", store.ErrCorrupt)
}

// ErrNotEmpty means that the store has something that is not of this backup.
var ErrNotEmpty = errors.New("the store is not empty: restore into a new one")

// begin marks the store, which no engine opens from then on. It refuses one that is in use.
func begin(ctx context.Context, s Target, h Header) error {
	if err := Unused(ctx, s); err != nil {
		return err
	}
	switch held, err := s.Lookup(ctx, own.RestoringName); {
	case err == nil && string(held) == h.ID:
		return nil // a restore of this backup died
	case err == nil:
		return fmt.Errorf("%w; it holds part of another backup, which is not whole", ErrNotEmpty)
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	v, err := s.Snapshot(ctx)
	if err != nil {
		return err
	}
	err = v.Records(ctx, func(store.Record) error { return ErrNotEmpty })
	for p := 0; p < h.Partitions && err == nil; p++ { // the map is gone, as after a loss, but not the work
		var last store.Head
		if last, err = v.Head(ctx, p); err == nil && last.Number > 0 {
			err = ErrNotEmpty
		}
	}
	if err := errors.Join(err, v.Close()); err != nil {
		return err
	}
	held, err := s.Swap(ctx, own.RestoringName, nil, []byte(h.ID))
	if err == nil && string(held) != h.ID {
		return ErrNotEmpty
	}
	return err
}

// end writes the map, with what is not known noted in it, and then makes the store usable.
func (f *filler) end(ctx context.Context) error {
	if err := f.finish(ctx); err != nil {
		return err
	}
	if f.layout == nil {
		return fmt.Errorf("%w: it has no map of partitions", store.ErrCorrupt)
	}
	m, err := own.ReadableMap(f.layout)
	if err != nil {
		return err
	}
	if !f.moved {
		now := time.Now().UnixNano()
		for p, number := range f.numbers {
			if p < m.Most {
				m.Losses = append(m.Losses, loss.Loss{Partition: p, Have: number, Acked: number, Found: now, Accepted: now})
			}
		}
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := put(ctx, f.s, own.MapName, raw); err != nil {
		return err
	}
	held, err := f.s.Swap(ctx, own.RestoringName, []byte(f.taken.ID), nil)
	if err == nil && held != nil {
		err = errors.New("another restore has begun meanwhile")
	}
	return err
}

// put makes a record what it should be.
func put(ctx context.Context, s store.Registry, name string, value []byte) error {
	var old []byte
	for range 3 {
		held, err := s.Swap(ctx, name, old, value)
		if err != nil {
			return err
		}
		if string(held) == string(value) {
			return nil
		}
		old = held // of a restore that died
	}
	return fmt.Errorf("record %s changes while it is restored: the store is in use", name)
}
