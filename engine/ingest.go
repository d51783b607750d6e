package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash"
	"runtime"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/block"
	"github.com/weirhq/weir/internal/source"
	"golang.org/x/sync/errgroup"
)

// ingest cuts a stream of items into blocks and writes them. One goroutine reads
// and checks ids; as many as there are cores check, compress and write blocks.
// Memory is bounded by the blocks in hand, whatever the number of items.
type ingest struct {
	engine     *Engine
	ctx        context.Context
	partition  int
	id         weir.BulkID
	rule       weir.DuplicateRule
	seen       *source.Keys // nil: ids are not compared
	digest     hash.Hash    // nil: no idempotency key
	count      int64
	duplicates int64
	next       uint32
	current    *block.Builder
	spare      chan *block.Builder
	group      *errgroup.Group
}

func (e *Engine) newIngest(ctx context.Context, partition int, id weir.BulkID, rule weir.DuplicateRule) *ingest {
	workers := runtime.GOMAXPROCS(0)
	w := &ingest{engine: e, partition: partition, id: id, rule: rule, spare: make(chan *block.Builder, workers+1)}
	if rule != weir.KeepAll {
		w.seen = source.NewKeys()
	}
	for range workers + 1 {
		w.spare <- &block.Builder{}
	}
	w.group, w.ctx = errgroup.WithContext(ctx)
	w.current = <-w.spare
	return w
}

// all reads every item, and returns when the last block is written.
func (w *ingest) all(items func(func(string, []byte, error) bool)) (err error) {
	items(func(id string, data []byte, bad error) bool {
		err = bad
		if err == nil {
			err = w.add(id, data)
		}
		return err == nil
	})
	if err == nil && w.current.Len() > 0 {
		err = w.flush()
	}
	if failed := w.group.Wait(); failed != nil {
		return failed
	}
	return err
}

func (w *ingest) add(id string, data []byte) error {
	if err := checkItem(w.count+w.duplicates+1, id, data); err != nil {
		return err
	}
	if w.seen != nil && !w.seen.Add(id) {
		w.duplicates++
		if w.rule == weir.RefuseDuplicates {
			return &weir.DuplicateError{ID: id, Item: w.count + w.duplicates}
		}
		return nil
	}
	if w.digest != nil {
		w.note(id, data)
	}
	w.current.Add(id, data)
	w.count++
	if w.current.Full() {
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

// flush hands the current block to a writer.
func (w *ingest) flush() error {
	if err := w.engine.room(w.count); err != nil {
		return err
	}
	b, no := w.current, w.next
	w.next++
	w.group.Go(func() error {
		defer func() { b.Reset(); w.spare <- b }()
		return w.write(b, no)
	})
	select {
	case w.current = <-w.spare:
		return nil
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
}

func (w *ingest) write(b *block.Builder, no uint32) error {
	if err := b.Each(func(i int, id, data []byte) error { return checkJSON(int64(no)*block.Size+int64(i), id, data) }); err != nil {
		return err
	}
	sealed := w.engine.codec.Seal(nil, b)
	return w.engine.store.PutBlocks(w.ctx, w.partition, w.id, no, [][]byte{sealed})
}

func checkJSON(no int64, id, data []byte) error {
	if jsontext.Value(data).IsValid() {
		return nil
	}
	return &weir.FieldError{
		Code: "bad_json", Field: fmt.Sprintf("items[%d].data", no),
		Problem: fmt.Sprintf("the document of %q is no valid JSON", id),
		Fix:     "send one JSON value with unique member names in valid UTF-8",
	}
}

// checkItem checks what every item must have. no counts from 1.
func checkItem(no int64, id string, data []byte) error {
	field := func(name string) string { return fmt.Sprintf("items[%d].%s", no-1, name) }
	switch {
	case id == "":
		return &weir.FieldError{Code: "missing_id", Field: field("id"), Problem: "is empty", Fix: "give every item an id"}
	case len(id) > weir.MaxIDBytes:
		return &weir.FieldError{Code: "id_too_long", Field: field("id"), Problem: fmt.Sprintf("has %d bytes, more than %d", len(id), weir.MaxIDBytes), Fix: "shorten it"}
	case len(data) > weir.MaxItemBytes:
		return &weir.FieldError{Code: "item_too_large", Field: field("data"), Problem: fmt.Sprintf("has %d bytes, more than %d", len(data), weir.MaxItemBytes), Fix: "store large content elsewhere and send a reference"}
	case len(data) == 0:
		return &weir.FieldError{Code: "bad_json", Field: field("data"), Problem: "is empty", Fix: "send a JSON value, as in {}"}
	}
	return nil
}
