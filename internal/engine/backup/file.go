package backup

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/weirhq/weir/store"
)

// A file is a magic and frames. A frame is the length and the checksum of what follows, and entries, compressed. The
// checksum covers the frame's number, so that frames that are missing or out of order are detected. An entry is its kind and
// its fields, each after its length. The first entry is the header, the last one the end: a file without it was cut off.
const magic = "weirbak1"

const (
	frameHead = 4 + 4 // length, CRC32C
	frameSize = 1 << 20
	frameMost = 256 << 20 // bytes of a frame, compressed or not: the largest entry is a block
)

// The kinds of entries, in the order of a file. A partition's entries follow its head.
const (
	kindHeader    byte = 'h' // Header
	kindPartition byte = 'p' // partition, number of the last commit, generation of the claims
	kindBlock     byte = 'b' // id, number, block
	kindClaim     byte = 'c' // key, value
	kindMessage   byte = 'm' // body
	kindRow       byte = 'r' // key, value
	kindRecord    byte = 'n' // name, value
	kindEnd       byte = 'z' // Counts
)

// fields is the number of fields of each kind.
var fields = map[byte]int{
	kindHeader: 1, kindPartition: 3, kindBlock: 3, kindClaim: 2, kindMessage: 1, kindRow: 2, kindRecord: 2, kindEnd: 1,
}

// Header says what a file has.
type Header struct {
	ID         string    `json:"id"`     // of this backup, random
	Taken      time.Time `json:"taken"`  // what the store had then is in the file
	Format     int       `json:"format"` // of what is stored
	Version    string    `json:"version"`
	Partitions int       `json:"partitions"`
}

// Counts is what a file has of each kind.
type Counts struct {
	Blocks   int64 `json:"blocks"`
	Claims   int64 `json:"claims"`
	Messages int64 `json:"messages"`
	Rows     int64 `json:"rows"`
	Records  int64 `json:"records"`
	Bytes    int64 `json:"bytes"` // of all of these, before compression
}

// Summary describes a file: what was written, checked or restored.
type Summary struct {
	Header
	Counts
}

// count adds an entry.
func (c *Counts) count(kind byte, field [3][]byte) {
	switch kind {
	case kindBlock:
		c.Blocks++
	case kindClaim:
		c.Claims++
	case kindMessage:
		c.Messages++
	case kindRow:
		c.Rows++
	case kindRecord:
		c.Records++
	default:
		return
	}
	for _, f := range field {
		c.Bytes += int64(len(f))
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(frame uint64, b []byte) uint32 {
	var no [8]byte
	binary.BigEndian.PutUint64(no[:], frame)
	return crc32.Update(crc32.Checksum(no[:], castagnoli), castagnoli, b)
}

// writer writes entries.
type writer struct {
	w      io.Writer
	zip    *zstd.Encoder
	frame  uint64
	raw    []byte // entries of the frame
	packed []byte
	counts Counts
}

func newWriter(w io.Writer) (*writer, error) {
	zip, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	_, err = io.WriteString(w, magic)
	return &writer{w: w, zip: zip}, err
}

func (w *writer) add(kind byte, field ...[]byte) error {
	w.raw = append(w.raw, kind)
	var counted [3][]byte
	for i, f := range field {
		w.raw = binary.AppendUvarint(w.raw, uint64(len(f)))
		w.raw = append(w.raw, f...)
		counted[i] = f
	}
	w.counts.count(kind, counted)
	if len(w.raw) < frameSize {
		return nil
	}
	return w.flush()
}

func (w *writer) addJSON(kind byte, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.add(kind, raw)
}

// flush writes the frame.
func (w *writer) flush() error {
	if len(w.raw) == 0 {
		return nil
	}
	w.packed = w.zip.EncodeAll(w.raw, append(w.packed[:0], make([]byte, frameHead)...))
	body := w.packed[frameHead:]
	binary.BigEndian.PutUint32(w.packed, uint32(len(body)))
	binary.BigEndian.PutUint32(w.packed[4:], checksum(w.frame, body))
	w.frame++
	w.raw = w.raw[:0]
	_, err := w.w.Write(w.packed)
	return err
}

// number is a field that is a number.
func number(n uint64) []byte { return binary.AppendUvarint(nil, n) }

func parseNumber(b []byte) (uint64, error) {
	n, used := binary.Uvarint(b)
	if used <= 0 || used != len(b) {
		return 0, fmt.Errorf("%w: not a number", store.ErrCorrupt)
	}
	return n, nil
}

// reader reads entries.
type reader struct {
	r      *bufio.Reader
	zip    *zstd.Decoder
	frame  uint64
	packed []byte
	raw    []byte // of the frame
	rest   []byte // of raw, not read yet
	counts Counts
}

// ErrNotBackup means that the file is something else.
var ErrNotBackup = errors.New("not a backup of weir")

func newReader(r io.Reader) (*reader, error) {
	zip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(frameMost))
	if err != nil {
		return nil, err
	}
	in := &reader{r: bufio.NewReaderSize(r, frameSize), zip: zip}
	var head [len(magic)]byte
	if _, err := io.ReadFull(in.r, head[:]); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	switch {
	case string(head[:]) == magic:
		return in, nil
	case string(head[:len(magic)-1]) == magic[:len(magic)-1]:
		return nil, errors.New("the backup was written by a newer version of weir: restore it with that version or a later one")
	}
	return nil, ErrNotBackup
}

func (r *reader) close() { r.zip.Close() }

// next returns an entry. Its fields are valid until the next call.
func (r *reader) next() (kind byte, field [3][]byte, err error) {
	if len(r.rest) == 0 {
		if err := r.fill(); err != nil {
			return 0, field, err
		}
	}
	kind = r.rest[0]
	n, known := fields[kind]
	if !known {
		return 0, field, fmt.Errorf("%w: frame %d has an entry of kind %q", store.ErrCorrupt, r.frame, kind)
	}
	r.rest = r.rest[1:]
	for i := range n {
		size, used := binary.Uvarint(r.rest)
		if used <= 0 || size > uint64(len(r.rest)-used) {
			return 0, field, fmt.Errorf("%w: frame %d ends within an entry", store.ErrCorrupt, r.frame)
		}
		field[i] = r.rest[used : used+int(size) : used+int(size)]
		r.rest = r.rest[used+int(size):]
	}
	r.counts.count(kind, field)
	return kind, field, nil
}

// fill reads the next frame.
func (r *reader) fill() error {
	var head [frameHead]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return cutOff(err)
	}
	size := binary.BigEndian.Uint32(head[:])
	if size == 0 || size > frameMost {
		return fmt.Errorf("%w: frame %d is said to have %d bytes", store.ErrCorrupt, r.frame+1, size)
	}
	if err := r.read(int(size)); err != nil {
		return cutOff(err)
	}
	if binary.BigEndian.Uint32(head[4:]) != checksum(r.frame, r.packed) {
		return fmt.Errorf("%w: frame %d has a wrong checksum", store.ErrCorrupt, r.frame+1)
	}
	r.frame++
	var err error
	if r.raw, err = r.zip.DecodeAll(r.packed, r.raw[:0]); err != nil || len(r.raw) == 0 {
		return fmt.Errorf("%w: frame %d: %w", store.ErrCorrupt, r.frame, err)
	}
	r.rest = r.raw
	return nil
}

// read reads size bytes into packed, a part at a time: a wrong size must not take memory that the file does not fill.
func (r *reader) read(size int) error {
	r.packed = r.packed[:0]
	for len(r.packed) < size {
		from := len(r.packed)
		r.packed = append(r.packed, make([]byte, min(size-from, frameSize))...)
		if _, err := io.ReadFull(r.r, r.packed[from:]); err != nil {
			return err
		}
	}
	return nil
}

func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: the file is cut off", store.ErrCorrupt)
	}
	return err
}

// ended returns io.EOF if nothing follows the end.
func (r *reader) ended() error {
	if len(r.rest) > 0 {
		return fmt.Errorf("%w: something follows the end", store.ErrCorrupt)
	}
	if _, err := r.r.ReadByte(); err == nil {
		return fmt.Errorf("%w: something follows the end", store.ErrCorrupt)
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
