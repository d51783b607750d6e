package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"iter"
	"runtime"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/filter"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/edge/source"
	"golang.org/x/sync/errgroup"
)

// maxBlockBytes bounds a block of large items: it holds fewer than it could.
const maxBlockBytes = 4 << 20

// entry is one item on its way into a block.
type entry struct {
	id       string
	data     []byte
	previous []byte // what an earlier step answered, in a retry
	keyNo    int64  // the number in its idempotency key, in a retry that keeps the keys
}

// builders is a block being filled, and what its items bring along.
type builders struct {
	items, carried block.Builder
	sealed         []byte
}

func (b *builders) reset() {
	b.items.Reset()
	b.carried.Reset()
}

// ingest cuts a stream of items into blocks and writes them. One goroutine reads
// and checks ids; as many as there are cores check, compress and write blocks.
// Memory is bounded by the blocks in hand, whatever the number of items.
type ingest struct {
	engine     *Engine
	carries    bool            // each item brings what an earlier step answered
	ctx        context.Context // ends with the writers
	submit     context.Context // does not
	partition  int
	id         weir.BulkID
	rule       weir.DuplicateRule
	seen       *source.Keys // nil: ids are not compared
	lately     lately       // read, and not compared yet
	digest     hash.Hash    // nil: no idempotency key
	count      int64
	reserved   int64 // of them, counted as pending
	duplicates int64
	sizes      []uint16 // of the blocks so far
	uneven     bool     // a block was cut before it was full
	current    *builders
	spare      chan *builders
	filters    filters     // which ids are in which blocks
	drafted    bool        // its id was known before; the blocks of a refused one stay with the draft
	sole       bool        // no other submit of its id is under way
	aside      bool        // its items are not pending: nothing is done to them
	cutAfter   int64       // a block ends with this item, counted from 1; 0: none has to
	kept       *keptBlocks // to put them in again; nil: the store loses nothing
	group      *errgroup.Group
}

func (e *Engine) newIngest(ctx context.Context, p int, c *partition.Created, rule weir.DuplicateRule) *ingest {
	workers := runtime.GOMAXPROCS(0)
	w := &ingest{engine: e, partition: p, id: c.ID, carries: c.Carries, rule: rule, spare: make(chan *builders, workers+1)}
	if rule != weir.KeepAll {
		w.seen = source.NewKeys()
	}
	for range workers + 1 {
		w.spare <- &builders{}
	}
	if e.remembers() {
		w.kept = e.past.recent.begin(p)
	}
	w.submit = ctx
	w.group, w.ctx = errgroup.WithContext(ctx)
	w.current = <-w.spare
	return w
}

// all reads every item, and returns when the last block is written.
func (w *ingest) all(items iter.Seq2[entry, error]) (err error) {
	for it, bad := range items {
		if err = bad; err == nil {
			err = w.read(it)
		}
		if err != nil {
			break
		}
	}
	if err == nil && w.seen != nil {
		err = w.sift()
	}
	if err == nil && w.current.items.Len() > 0 {
		err = w.flush()
	}
	if failed := w.group.Wait(); failed != nil {
		return failed
	}
	if twice := (*weir.DuplicateError)(nil); errors.As(err, &twice) {
		twice.First = w.firstOf(twice.ID)
	}
	if err == nil {
		w.ctx = w.submit
		err = w.filterRest()
	}
	return err
}

// read takes one item from the input.
func (w *ingest) read(it entry) error {
	if err := checkItem(w.count+w.duplicates+int64(len(w.lately.ids)), it.id, it.data); err != nil {
		return err
	}
	if w.seen == nil {
		return w.add(it)
	}
	if w.lately.add(it); len(w.lately.ids) == siftItems || len(w.lately.data) > siftBytes {
		return w.sift()
	}
	return nil
}

// sift keeps what is fresh of the items read lately. Looking up many ids at once
// lets the processor wait for memory once for all of them.
func (w *ingest) sift() error {
	l := &w.lately
	w.seen.AddAll(l.ids, l.fresh[:len(l.ids)])
	for i, id := range l.ids {
		if !l.fresh[i] {
			w.duplicates++
			if w.rule == weir.RefuseDuplicates {
				return &weir.DuplicateError{ID: id, Item: w.count + w.duplicates}
			}
			continue
		}
		if err := w.add(l.entry(i)); err != nil {
			return err
		}
	}
	l.reset()
	return nil
}

// add puts an item that has become part of the bulk action into the current block.
func (w *ingest) add(it entry) error {
	if w.digest != nil {
		w.note(it.id, it.data)
	}
	w.current.items.Add(it.id, it.data)
	if w.carries {
		w.current.carried.Add(strconv.FormatInt(it.keyNo, 10), it.previous)
	}
	w.count++
	if w.current.items.Full() {
		return w.flush()
	}
	if w.current.items.Bytes() >= maxBlockBytes || w.count == w.cutAfter {
		w.uneven = true
		return w.flush()
	}
	return nil
}

// note adds an item to the digest; lengths keep neighbours apart.
func (w *ingest) note(id string, data []byte) {
	var lens [8]byte
	binary.BigEndian.PutUint32(lens[:4], uint32(len(id)))
	binary.BigEndian.PutUint32(lens[4:], uint32(len(data)))
	w.digest.Write(lens[:])
	w.digest.Write([]byte(id))
	w.digest.Write(data)
}

// flush hands the current block to a writer, unless one has failed.
func (w *ingest) flush() error {
	if w.ctx.Err() != nil {
		return w.ctx.Err() // all returns what the writer said
	}
	if err := w.reserve(int64(w.current.items.Len())); err != nil {
		return err
	}
	b, no, base := w.current, uint32(len(w.sizes)), w.count-int64(w.current.items.Len())
	w.sizes = append(w.sizes, uint16(b.items.Len()))
	w.group.Go(func() error {
		defer func() { w.spare <- b }()
		return w.write(b, no, base)
	})
	select {
	case w.current = <-w.spare:
		return nil
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
}

func (w *ingest) write(b *builders, no uint32, base int64) error {
	defer b.reset()
	hashes := make([]uint64, 0, b.items.Len())
	err := b.items.Each(func(i int, id, data []byte) error {
		hashes = append(hashes, filter.Hash(id))
		return checkJSON(base+int64(i), id, data)
	})
	if err == nil {
		err = w.filter(no, hashes)
	}
	if err != nil {
		return err
	}
	b.sealed = w.engine.codec.Seal(b.sealed[:0], &b.items)
	if err := w.put(no, b.sealed); err != nil || !w.carries {
		return err
	}
	b.sealed = w.engine.codec.Seal(b.sealed[:0], &b.carried)
	return w.put(no+carriedBlocks, b.sealed)
}

func (w *ingest) put(no uint32, sealed []byte) error {
	if w.kept != nil {
		w.engine.past.recent.keep(w.kept, no, sealed)
	}
	return w.engine.store.PutBlocks(w.ctx, w.partition, w.id, no, [][]byte{sealed})
}

// unkept forgets the blocks of a submit that was not accepted.
func (w *ingest) unkept() {
	if w.kept != nil {
		w.engine.past.recent.drop(w.kept)
	}
}

func checkJSON(no int64, id, data []byte) error {
	if jsontext.Value(data).IsValid() {
		return nil
	}
	return &weir.FieldError{
		Code: "bad_json", Field: fmt.Sprintf("items[%d].data", no),
		Problem: fmt.Sprintf("the document of %q is not valid JSON", id),
		Fix:     "send one JSON value with unique member names in valid UTF-8",
	}
}

// checkItem checks what every item must have.
func checkItem(no int64, id string, data []byte) error {
	field := func(name string) string { return fmt.Sprintf("items[%d].%s", no, name) }
	switch {
	case id == "":
		return &weir.FieldError{Code: "missing_id", Field: field("id"), Problem: "is empty", Fix: "give every item an id"}
	case len(id) > weir.MaxIDBytes:
		return &weir.FieldError{Code: "id_too_long", Field: field("id"), Problem: fmt.Sprintf("has %d bytes, more than %d", len(id), weir.MaxIDBytes), Fix: "shorten it"}
	case !utf8.ValidString(id) || strings.IndexByte(id, 0) >= 0:
		return &weir.FieldError{Code: "bad_encoding", Field: field("id"), Problem: fmt.Sprintf("%q is not UTF-8 or has a zero byte", id), Fix: "use text in UTF-8"}
	case len(data) > weir.MaxItemBytes:
		return &weir.FieldError{Code: "item_too_large", Field: field("data"), Problem: fmt.Sprintf("has %d bytes, more than %d", len(data), weir.MaxItemBytes), Fix: "store large content elsewhere and send a reference"}
	case len(data) == 0:
		return &weir.FieldError{Code: "bad_json", Field: field("data"), Problem: "is empty", Fix: "send a JSON value, as in {}"}
	}
	return nil
}
