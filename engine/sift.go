package engine

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

func (l *lately) add(it entry) {
	l.ids = append(l.ids, it.id)
	l.data = append(l.data, it.data...)
	l.ends = append(l.ends, len(l.data))
}

func (l *lately) entry(i int) entry {
	from := 0
	if i > 0 {
		from = l.ends[i-1]
	}
	return entry{id: l.ids[i], data: l.data[from:l.ends[i]]}
}

func (l *lately) reset() { l.ids, l.data, l.ends = l.ids[:0], l.data[:0], l.ends[:0] }
