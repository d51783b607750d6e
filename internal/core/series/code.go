package series

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

// A stored series is, in unsigned varints,
//
//	version, start (ms since 1970), step (ms), number of steps, number of columns, columns
//
// and each column is runs of equal values until it is complete: the value times 2, plus 1 if the
// length of the run follows; otherwise the run has one value. A value is 0 if it is unknown, and
// otherwise 1 more than the count, or than a thousand times the level or the peak.
//
// Measures are known by their place. New ones come last: a series that was stored before has them
// as unknown.
const (
	codeVersion = 1
	finer       = 1000
	mostSteps   = 1 << 16
	mostColumns = 64
)

// ErrFormat means that stored bytes are not a series.
var ErrFormat = errors.New("not a stored series")

// Encode returns the stored format.
func (s *Series) Encode() []byte {
	b := binary.AppendUvarint(nil, codeVersion)
	b = binary.AppendUvarint(b, uint64(max(s.Start.UnixMilli(), 0)))
	b = binary.AppendUvarint(b, uint64(s.Step.Milliseconds()))
	b = binary.AppendUvarint(b, uint64(s.Len()))
	b = binary.AppendUvarint(b, uint64(len(s.Columns)))
	for c, m := range s.Measures {
		col := s.Columns[c]
		for i := 0; i < len(col); {
			word, end := wordOf(m.Rule, col[i]), i+1
			for end < len(col) && wordOf(m.Rule, col[end]) == word {
				end++
			}
			if end-i == 1 {
				b = binary.AppendUvarint(b, word<<1)
			} else {
				b = binary.AppendUvarint(b, word<<1|1)
				b = binary.AppendUvarint(b, uint64(end-i))
			}
			i = end
		}
	}
	return b
}

func wordOf(r Rule, v float64) uint64 {
	if !Known(v) {
		return 0
	}
	if r != Count {
		v *= finer
	}
	return 1 + uint64(math.Round(min(max(v, 0), 1<<52)))
}

func valueOf(r Rule, word uint64) float64 {
	if word == 0 {
		return Unknown()
	}
	v := float64(word - 1)
	if r != Count {
		v /= finer
	}
	return v
}

// Decode reads what Encode wrote.
func Decode(m []Measure, b []byte) (*Series, error) {
	d := decoder{b: b}
	version, start, step := d.next(), d.next(), d.next()
	steps, columns := d.next(), d.next()
	switch {
	case d.bad:
		return nil, fmt.Errorf("%w: it is truncated", ErrFormat)
	case version != codeVersion:
		return nil, fmt.Errorf("%w: it has version %d, this program knows %d", ErrFormat, version, codeVersion)
	case step == 0 || step > math.MaxInt64/uint64(time.Millisecond) || start > 1<<50 || steps > mostSteps || columns > mostColumns:
		return nil, fmt.Errorf("%w: step %d ms, %d steps, %d columns", ErrFormat, step, steps, columns)
	}
	s := New(m, time.UnixMilli(int64(start)).UTC(), time.Duration(step)*time.Millisecond, int(steps))
	for c := range int(columns) {
		rule, col := Count, []float64(nil)
		if c < len(m) { // else a newer program wrote it
			rule, col = m[c].Rule, s.Columns[c]
		}
		d.column(rule, col, int(steps))
	}
	if d.bad || len(d.b) > 0 {
		return nil, fmt.Errorf("%w: its columns do not have %d steps", ErrFormat, steps)
	}
	return s, nil
}

// decoder reads varints until one is missing.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) next() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

// column reads a column of n steps; a nil one is skipped.
func (d *decoder) column(r Rule, to []float64, n int) {
	for i := 0; i < n && !d.bad; {
		word, run := d.next(), uint64(1)
		if word&1 == 1 {
			run = d.next()
		}
		if run == 0 || run > uint64(n-i) {
			d.bad = true
			return
		}
		for range run {
			if to != nil {
				to[i] = valueOf(r, word>>1)
			}
			i++
		}
	}
}
