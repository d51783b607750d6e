package ingest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"iter"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/filter"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/edge/source"
	"github.com/weirhq/weir/internal/engine/recall"
	"github.com/weirhq/weir/internal/engine/stored"
	"golang.org/x/sync/errgroup"
)

// maxInline is how many bytes the items of a bulk action may have that travel in the message that creates it. Such a
// message is written twice, as itself and as a row, which costs less than the round trips for a block of its own.
const maxInline = 16 << 10

// maxBlockBytes bounds a block of large items: it holds fewer than it could.
const maxBlockBytes = 4 << 20

// Entry is one item on its way into a block.
type Entry struct {
	ID       string
	Data     []byte
	Previous []byte // what an earlier step answered, in a retry
	KeyNo    int64  // the number in its idempotency key, in a retry that keeps the keys
}

// builders is a block being filled, and what its items bring along.
type builders struct {
	items, carried block.Builder
	sealed         []byte
	ids            []hashed
}

func (b *builders) reset() {
	b.ids = b.ids[:0]
	b.items.Reset()
	b.carried.Reset()
}

// Stream cuts a stream of items into blocks and writes them. One goroutine reads
// and checks ids; as many as there are cores check, compress and write blocks.
// Memory is bounded by the blocks in hand, whatever the number of items.
type Stream struct {
	in        *Intake
	ctx       context.Context // ends with the writers
	submit    context.Context // does not
	partition int
	id        weir.BulkID
	carries   bool         // each item brings what an earlier step answered
	aside     bool         // its items are not pending: nothing is done to them
	adoption               // of items that were set aside
	seen      *source.Keys // of items that are left out if their id came before; nil: none are
	repeats   *repeats     // of items that are refused if an id comes twice; nil: they are not
	twice     atomic.Bool  // repeats has found one
	lately    lately       // read, and not compared yet
	current   *builders
	spare     chan *builders
	made      int     // builders, at most the room in spare
	filters   filters // which ids are in which blocks
	group     *errgroup.Group

	// CutAfter is an item, counted from 1, that a block ends with; 0: none has to.
	CutAfter int64
	// Digest takes all that is accepted; nil: no idempotency key.
	Digest hash.Hash

	Count      int64
	Duplicates int64
	Reserved   int64             // items counted as pending
	Sizes      []uint16          // of the blocks so far
	Uneven     bool              // a block before the last is not full
	Places     []partition.Place // of the blocks so far, if some were adopted
	Listed     []byte            // hashes of the ids of an inline block, if they are few; nil: they are not in the index
	Inline     []byte            // the only block, sealed, if it is small enough to be part of the message; nil: blocks were written
	Kept       *recall.Kept
}

// Intake writes items to a store.
type Intake struct {
	*Backlog
	store stored.Source
	codec *block.Codec
	past  *recall.Past
	log   *slog.Logger
	// builders keeps those of small bulk actions for the next: their memory costs more than what is done with it.
	builders sync.Pool
	// Partitions returns how many partitions there are.
	Partitions func() int
	// Place chooses the partition of a tenant's bulk action.
	Place func(ctx context.Context, tenant string) (int, error)
}

// NewIntake makes an intake. Its caller sets the functions before the first use.
func NewIntake(s stored.Source, c *block.Codec, b *Backlog, past *recall.Past, log *slog.Logger) *Intake {
	return &Intake{store: s, codec: c, Backlog: b, past: past, log: log, builders: sync.Pool{New: func() any { return &builders{} }}}
}

// NewID makes the id of a bulk action that will be submitted later, with Engine.SubmitAs.
// It says already which partition will hold it.
func (in *Intake) NewID(ctx context.Context, tenant string) (weir.BulkID, error) {
	p, err := in.Place(ctx, tenant)
	if err != nil {
		return "", err
	}
	return stored.NewID(p), nil
}

// Open begins a stream of the items of a bulk action.
func (in *Intake) Open(ctx context.Context, p int, c *partition.Created, rule weir.DuplicateRule) *Stream {
	workers := runtime.GOMAXPROCS(0)
	w := &Stream{in: in, partition: p, id: c.ID, carries: c.Carries, spare: make(chan *builders, workers+1)}
	switch rule {
	case weir.KeepFirst:
		w.seen = source.NewKeys()
	case weir.RefuseDuplicates:
		w.repeats = newRepeats()
	}
	w.Kept = in.past.Submit(p)
	w.submit = ctx
	w.group, w.ctx = errgroup.WithContext(ctx)
	w.current, w.made = in.builders.Get().(*builders), 1
	return w
}

// next takes builders for the next block: those of a block that is written, or new ones while there are fewer than
// blocks that can be in hand.
func (w *Stream) next() error {
	select {
	case w.current = <-w.spare:
		return nil
	default:
	}
	if w.made < cap(w.spare) {
		w.current = &builders{}
		w.made++
		return nil
	}
	select {
	case w.current = <-w.spare:
		return nil
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
}

// All reads every item, and returns when the last block is written.
func (w *Stream) All(items iter.Seq2[Entry, error]) (err error) {
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
	return w.end(err)
}

// end writes the last block, and returns when all are written.
func (w *Stream) end(err error) error {
	if err == nil && w.current.items.Len() > 0 {
		if w.small() {
			err = w.inline()
		} else {
			err = w.flush()
		}
	}
	if failed := w.group.Wait(); failed != nil {
		return failed
	}
	if w.Inline != nil { // the block is in memory of its own
		w.current.reset()
		w.in.builders.Put(w.current)
		w.current = nil
	}
	w.ctx = w.submit
	if w.repeats != nil && (err == nil || errors.Is(err, errTwice)) {
		if p, twice := w.repeats.find(); twice {
			return w.duplicate(p)
		}
	}
	if err == nil {
		err = w.filterRest()
	}
	return err
}

// errTwice ends a stream of items in which an id comes twice.
var errTwice = errors.New("an id comes twice")

// duplicate is the error about two items with one id, which has been written with the first of them.
func (w *Stream) duplicate(p pair) error {
	twice := &weir.DuplicateError{Item: p.again + 1, First: p.first + 1}
	before := int64(0)
	for no, size := range w.Sizes {
		if p.first >= before+int64(size) {
			before += int64(size)
			continue
		}
		items, err := w.reread(uint32(no))
		if err != nil {
			return err
		}
		twice.ID = items.ID(int(p.first - before))
		break
	}
	return twice
}

// reread opens a block that was made.
func (w *Stream) reread(no uint32) (*block.Items, error) {
	if w.Inline != nil {
		return w.in.codec.Open(w.Inline)
	}
	return stored.OpenItems(w.submit, w.in.store, w.in.codec, w.partition, &partition.Created{ID: w.id, Places: w.Places}, no)
}

// read takes one item from the input.
func (w *Stream) read(it Entry) error {
	if err := checkItem(w.Count+w.Duplicates+int64(len(w.lately.ids)), it.ID, it.Data); err != nil {
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
func (w *Stream) sift() error {
	l := &w.lately
	w.seen.AddAll(l.ids, l.fresh[:len(l.ids)])
	for i := range l.ids {
		if !l.fresh[i] {
			w.Duplicates++
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
func (w *Stream) add(it Entry) error {
	if w.Digest != nil {
		w.note(it.ID, it.Data)
	}
	w.current.items.Add(it.ID, it.Data)
	if w.carries {
		w.current.carried.Add(strconv.FormatInt(it.KeyNo, 10), it.Previous)
	}
	w.Count++
	if w.current.items.Full() {
		return w.flush()
	}
	if w.current.items.Bytes() >= maxBlockBytes || w.Count == w.CutAfter {
		return w.flush()
	}
	return nil
}

// note adds an item to the digest; lengths keep neighbours apart.
func (w *Stream) note(id string, data []byte) {
	var lens [8]byte
	binary.BigEndian.PutUint32(lens[:4], uint32(len(id)))
	binary.BigEndian.PutUint32(lens[4:], uint32(len(data)))
	w.Digest.Write(lens[:])
	w.Digest.Write([]byte(id))
	w.Digest.Write(data)
}

// small reports whether the items go into the message that creates the bulk action.
func (w *Stream) small() bool {
	return len(w.Sizes) == 0 && !w.aside && !w.carries && w.current.items.Bytes() <= maxInline
}

// inline seals the only block, for the message.
func (w *Stream) inline() error {
	b := &w.current.items
	if err := w.reserve(b.Len()); err != nil {
		return err
	}
	hashes, err := w.check(w.current, 0)
	if err != nil {
		return err
	}
	if err := w.in.store.PutBlocks(w.ctx, w.partition, w.id, 0, nil); err != nil { // is there room for new work?
		return err
	}
	if len(hashes) <= partition.MostListed {
		w.Listed = []byte{}
		for _, h := range hashes {
			w.Listed = partition.AppendHash(w.Listed, partition.ItemTerm(h))
		}
	}
	w.Sizes = append(w.Sizes, uint16(b.Len()))
	w.Inline = w.in.codec.Seal(nil, b)
	w.Kept.Keep(0, w.Inline)
	return nil
}

// reserve counts the items of a block as pending, unless they are set aside.
func (w *Stream) reserve(items int) error {
	if w.aside {
		return nil
	}
	if err := w.in.reserve(int64(items), w.Reserved); err != nil {
		return err
	}
	w.Reserved += int64(items)
	return nil
}

// number gives the next block, of so many items, its number.
func (w *Stream) number(items int) uint32 {
	no := len(w.Sizes)
	w.Uneven = w.Uneven || no > 0 && w.Sizes[no-1] != block.Size
	w.Sizes = append(w.Sizes, uint16(items))
	return uint32(no)
}

// flush hands the current block to a writer, unless one has failed.
func (w *Stream) flush() error {
	if w.ctx.Err() != nil {
		return w.ctx.Err() // All returns the error of the writer
	}
	if w.twice.Load() {
		return errTwice
	}
	b, base := w.current, w.Count-int64(w.current.items.Len())
	if err := w.reserve(b.items.Len()); err != nil {
		return err
	}
	no := w.number(b.items.Len())
	if w.adopting {
		w.located("", no)
	}
	w.group.Go(func() error {
		defer func() { w.spare <- b }()
		return w.write(b, no, base)
	})
	return w.next()
}

func (w *Stream) write(b *builders, no uint32, base int64) error {
	defer b.reset()
	hashes, err := w.check(b, base)
	if err == nil {
		err = w.filter(no, hashes)
	}
	if err != nil {
		return err
	}
	b.sealed = w.in.codec.Seal(b.sealed[:0], &b.items)
	if err := w.put(no, b.sealed); err != nil || !w.carries {
		return err
	}
	b.sealed = w.in.codec.Seal(b.sealed[:0], &b.carried)
	return w.put(no+stored.CarriedBlocks, b.sealed)
}

// check refuses a block that has a document which is not JSON, and takes note of its ids. It returns their hashes, for lookups.
func (w *Stream) check(b *builders, base int64) (hashes []uint64, err error) {
	if bad := b.items.Check(validJSON); bad >= 0 {
		return nil, badJSON(base, &b.items, bad)
	}
	hashes = make([]uint64, 0, b.items.Len())
	_ = b.items.Each(func(i int, id, _ []byte) error { // the function returns no error
		hashes = append(hashes, filter.Hash(id))
		if w.repeats != nil {
			b.ids = w.repeats.hash(b.ids, id, base+int64(i))
		}
		return nil
	})
	if w.repeats != nil && w.repeats.add(b.ids) {
		w.twice.Store(true) // the blocks in hand are written all the same: the error is found in them
	}
	return hashes, nil
}

func (w *Stream) put(no uint32, sealed []byte) error {
	w.Kept.Keep(no, sealed)
	return w.in.store.PutBlocks(w.ctx, w.partition, w.id, no, [][]byte{sealed})
}

func validJSON(doc []byte) bool { return jsontext.Value(doc).IsValid() }

// badJSON is the error about a document that is not JSON, of a block whose first item has the number base.
func badJSON(base int64, items *block.Builder, bad int) (err error) {
	return items.Each(func(i int, id, data []byte) error {
		if i < bad {
			return nil
		}
		return checkJSON(base+int64(i), id, data)
	})
}

func checkJSON(no int64, id, data []byte) error {
	if validJSON(data) {
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
	bad := func(code, field, problem, fix string) error {
		return &weir.FieldError{Code: code, Field: fmt.Sprintf("items[%d].%s", no, field), Problem: problem, Fix: fix}
	}
	tooLong := func(bytes, most int) string { return fmt.Sprintf("has %d bytes, more than %d", bytes, most) }
	switch {
	case id == "":
		return bad("missing_id", "id", "is empty", "give every item an id")
	case len(id) > weir.MaxIDBytes:
		return bad("id_too_long", "id", tooLong(len(id), weir.MaxIDBytes), "shorten it")
	case !utf8.ValidString(id) || strings.IndexByte(id, 0) >= 0:
		return bad("bad_encoding", "id", fmt.Sprintf("%q is not UTF-8 or has a zero byte", id), "use text in UTF-8")
	case len(data) > weir.MaxItemBytes:
		return bad("item_too_large", "data", tooLong(len(data), weir.MaxItemBytes), "store large content elsewhere and send a reference")
	case len(data) == 0:
		return bad("bad_json", "data", "is empty", "send a JSON value, as in {}")
	}
	return nil
}
