package source

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// sampleSize is the size of the sample for detection, in bytes.
const sampleSize = 64 << 10

// open builds the pipeline from stored bytes to rows: decompress, decode to UTF-8, split.
func (r *Reader) open() error {
	stored := bufio.NewReaderSize(r.raw, sampleSize)
	plain, err := r.decompress(stored)
	if err != nil {
		return err
	}
	text := bufio.NewReaderSize(plain, sampleSize)
	sample, err := text.Peek(sampleSize)
	if err != nil && err != io.EOF {
		return err
	}
	if err := refuseBinary(sample, r.opts.Encoding); err != nil {
		return err
	}
	bom := r.chooseEncoding(sample)
	if _, err := text.Discard(bom); err != nil {
		return err
	}
	return r.openRows(r.decode(text))
}

// maxWindow bounds how far back zstd data may refer, and so its memory: what zstd --long
// writes.
const maxWindow = 128 << 20

// decompress puts a decompressor in front of data that starts like gzip or zstd.
func (r *Reader) decompress(in *bufio.Reader) (io.Reader, error) {
	magic, err := in.Peek(4)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		r.found.Compression = "gzip"
		return gzip.NewReader(in)
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		r.found.Compression = "zstd"
		// decodes as it is read, no goroutine
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		r.closes = append(r.closes, func() error { z.Close(); return nil })
		return z, nil
	}
	return in, nil
}

// refuseBinary refuses files that users mistake for text, by name.
func refuseBinary(sample []byte, encoding string) error {
	zeros := strings.HasPrefix(strings.ToLower(encoding), "utf-16") || bytes.HasPrefix(sample, bomLE) || bytes.HasPrefix(sample, bomBE)
	e := &InputError{Code: CodeNotText, Fix: "export it as CSV or NDJSON"}
	switch {
	case bytes.HasPrefix(sample, []byte("PK\x03\x04")):
		e.Problem = "this is a spreadsheet or a zip archive"
	case bytes.HasPrefix(sample, []byte("\xd0\xcf\x11\xe0")):
		e.Problem = "this is an old spreadsheet file"
	case bytes.HasPrefix(sample, []byte("PAR1")):
		e.Problem = "this is a Parquet file"
	case !zeros && bytes.IndexByte(sample, 0) >= 0:
		e.Problem = "there are zero bytes in the text"
		e.Fix = "if it is UTF-16, save it with a byte order mark, or as UTF-8"
	default:
		return nil
	}
	return e
}

var (
	bomUTF8 = []byte{0xef, 0xbb, 0xbf}
	bomLE   = []byte{0xff, 0xfe}
	bomBE   = []byte{0xfe, 0xff}
)

// chooseEncoding sets the encoding and returns the length of the byte order mark. A mark takes
// precedence over an option, because a file cannot start with one by chance.
func (r *Reader) chooseEncoding(sample []byte) (bom int) {
	for _, m := range []struct {
		mark []byte
		name string
	}{{bomUTF8, "utf-8"}, {bomLE, "utf-16le"}, {bomBE, "utf-16be"}} {
		if bytes.HasPrefix(sample, m.mark) {
			r.found.Encoding, r.found.Marked = m.name, true
			return len(m.mark)
		}
	}
	switch {
	case r.opts.Encoding != "":
		r.found.Encoding = strings.ToLower(r.opts.Encoding)
	case validUTF8(sample) || detectFormat(r.opts.Format, r.name, sample) != CSV:
		r.found.Encoding = "utf-8" // the JSON standard requires UTF-8: anything else is an error, not a guess
	default:
		r.found.Encoding = "windows-1252"
	}
	return 0
}

// validUTF8 accepts a character that the end of the sample cut.
func validUTF8(sample []byte) bool {
	if utf8.Valid(sample) {
		return true
	}
	for cut := 1; cut < utf8.UTFMax && cut < len(sample) && len(sample) == sampleSize; cut++ {
		if tail := sample[len(sample)-cut:]; utf8.RuneStart(tail[0]) {
			return !utf8.FullRune(tail) && utf8.Valid(sample[:len(sample)-cut])
		}
	}
	return false
}

func (r *Reader) decode(in io.Reader) io.Reader {
	enc, _ := encodingNamed(r.found.Encoding)
	if enc == nil {
		return in
	}
	return enc.NewDecoder().Reader(in)
}

// encodings maps names to encodings; UTF-8 needs no decoder, rows are checked instead.
func encodings() map[string]encoding.Encoding {
	return map[string]encoding.Encoding{
		"utf-8":        nil,
		"utf-16le":     unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM),
		"utf-16be":     unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM),
		"windows-1250": charmap.Windows1250,
		"windows-1251": charmap.Windows1251,
		"windows-1252": charmap.Windows1252,
		"iso-8859-1":   charmap.ISO8859_1,
		"iso-8859-2":   charmap.ISO8859_2,
		"iso-8859-15":  charmap.ISO8859_15,
	}
}

func encodingNamed(name string) (encoding.Encoding, bool) {
	e, ok := encodings()[strings.ToLower(name)]
	return e, ok
}

func encodingNames() []string { return slices.Sorted(maps.Keys(encodings())) }
