package result

import (
	"encoding/binary"
	"fmt"
	"sort"

	"github.com/weirhq/weir/store"
)

// numbers is a set of item numbers, stored as runs: failures come in clusters, and a cluster of
// any size takes a few bytes.
type numbers struct{ runs []run }

type run struct{ from, to int64 } // inclusive

// add adds a number larger than all before.
func (s *numbers) add(n int64) {
	if last := len(s.runs) - 1; last >= 0 && s.runs[last].to == n-1 {
		s.runs[last].to = n
		return
	}
	s.runs = append(s.runs, run{n, n})
}

func (s *numbers) has(n int64) bool {
	i := sort.Search(len(s.runs), func(i int) bool { return s.runs[i].to >= n })
	return i < len(s.runs) && s.runs[i].from <= n
}

// pack encodes, for each run, the gap before it and its length minus one.
func (s *numbers) pack() []byte {
	out := []byte{}
	at := int64(0)
	for _, r := range s.runs {
		out = binary.AppendUvarint(out, uint64(r.from-at))
		out = binary.AppendUvarint(out, uint64(r.to-r.from))
		at = r.to + 1
	}
	return out
}

// unpackNumbers decodes the result of pack.
func unpackNumbers(raw []byte) (*numbers, error) {
	s := &numbers{}
	for at := int64(0); len(raw) > 0; {
		gap, n := binary.Uvarint(raw)
		long, m := binary.Uvarint(raw[max(n, 0):])
		if n <= 0 || m <= 0 || gap > 1<<40 || long > 1<<40 {
			return nil, fmt.Errorf("%w: numbers of items", store.ErrCorrupt)
		}
		from := at + int64(gap)
		s.runs = append(s.runs, run{from, from + int64(long)})
		raw, at = raw[n+m:], from+int64(long)+1
	}
	return s, nil
}
