package ingest

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
