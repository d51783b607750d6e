package ingest

import (
	"context"
	"time"

	"github.com/weirhq/weir/internal/engine/stored"
)

// siftItems is how many ids are looked up at once.
const siftItems = 256

// siftBytes bounds what large items may take while they wait for that.
const siftBytes = 1 << 20

// lately holds items whose ids have not been looked up yet.
type lately struct {
	ids   []string
	data  []byte // all documents, one after the other
	ends  []int
	fresh [siftItems]bool
}

func (l *lately) add(it Entry) {
	l.ids = append(l.ids, it.ID)
	l.data = append(l.data, it.Data...)
	l.ends = append(l.ends, len(l.data))
}

func (l *lately) entry(i int) Entry {
	from := 0
	if i > 0 {
		from = l.ends[i-1]
	}
	return Entry{ID: l.ids[i], Data: l.data[from:l.ends[i]]}
}

func (l *lately) reset() { l.ids, l.data, l.ends = l.ids[:0], l.data[:0], l.ends[:0] }

// searchFor bounds how long is looked for the first of two items with one id.
const searchFor = 5 * time.Second

// firstOf is the position, counted from 1, of an item that was read; 0 if it is not
// found in time. Ids are not held in memory: the blocks that were written are read again.
func (w *Stream) firstOf(id string) (found int64) {
	ctx, cancel := context.WithTimeout(w.submit, searchFor)
	defer cancel()
	before := int64(0)
	for no, size := range w.Sizes {
		items, err := stored.OpenBlock(ctx, w.in.store, w.in.codec, w.partition, w.id, uint32(no))
		if err != nil {
			return 0 // it only makes an error clearer
		}
		for i := range items.Len() {
			if items.ID(i) == id {
				return before + int64(i) + 1
			}
		}
		before += int64(size)
	}
	_ = w.current.items.Each(func(i int, got, _ []byte) error { // the function returns no error
		if found == 0 && string(got) == id {
			found = before + int64(i) + 1
		}
		return nil
	})
	return found
}
