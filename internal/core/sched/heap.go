package sched

// resourceHeap is a binary min-heap of resources that tracks their positions.
type resourceHeap struct{ s []resourceItem }

type resourceItem struct {
	key int64
	r   *Resource
}

func (h *resourceHeap) len() int           { return len(h.s) }
func (h *resourceHeap) min() *resourceItem { return &h.s[0] }

func (h *resourceHeap) push(r *Resource, key int64) {
	h.s = append(h.s, resourceItem{key, r})
	h.up(len(h.s)-1, resourceItem{key, r})
}

func (h *resourceHeap) remove(r *Resource) {
	i, n := r.index, len(h.s)-1
	last := h.s[n]
	h.s[n] = resourceItem{}
	h.s = h.s[:n]
	if i < n {
		h.fix(i, last)
	}
}

// rekey changes the key of r.
func (h *resourceHeap) rekey(r *Resource, key int64) { h.fix(r.index, resourceItem{key, r}) }

func (h *resourceHeap) fix(i int, it resourceItem) {
	if i > 0 && it.before(h.s[(i-1)/2]) {
		h.up(i, it)
	} else {
		h.down(i, it)
	}
}

func (h *resourceHeap) set(i int, it resourceItem) {
	h.s[i] = it
	it.r.index = i
}

func (h *resourceHeap) up(i int, it resourceItem) {
	for i > 0 && it.before(h.s[(i-1)/2]) {
		h.set(i, h.s[(i-1)/2])
		i = (i - 1) / 2
	}
	h.set(i, it)
}

func (h *resourceHeap) down(i int, it resourceItem) {
	for c := 2*i + 1; c < len(h.s); c = 2*i + 1 {
		if c+1 < len(h.s) && h.s[c+1].before(h.s[c]) {
			c++
		}
		if !h.s[c].before(it) {
			break
		}
		h.set(i, h.s[c])
		i = c
	}
	h.set(i, it)
}

// before orders by key, then by name, so that equal inputs give equal outputs.
func (a resourceItem) before(b resourceItem) bool {
	return a.key < b.key || a.key == b.key && a.r.name < b.r.name
}

// flowHeap is a 4-ary min-heap of flows by start tag. It does not track the positions of its
// flows: an item whose key is not the flow's heapKey is stale and is dropped when it comes to
// the top, or by tier.rebuild when there are too many; a flow whose tag has grown is moved down
// only then. So a pick writes to one flow, not to every flow it passes on the way down.
type flowHeap struct{ s []flowItem }

type flowItem struct {
	key int64
	f   *flow
}

func (h *flowHeap) push(it flowItem) {
	h.s = append(h.s, it)
	i := len(h.s) - 1
	for i > 0 && it.key < h.s[(i-1)/4].key {
		h.s[i] = h.s[(i-1)/4]
		i = (i - 1) / 4
	}
	h.s[i] = it
}

// replace replaces the least item with it.
func (h *flowHeap) replace(it flowItem) {
	s, i := h.s, 0
	for c := 1; c < len(s); c = 4*i + 1 {
		for j, end := c+1, min(c+4, len(s)); j < end; j++ {
			if s[j].key < s[c].key {
				c = j
			}
		}
		if s[c].key >= it.key {
			break
		}
		s[i] = s[c]
		i = c
	}
	s[i] = it
}

func (h *flowHeap) pop() {
	n := len(h.s) - 1
	last := h.s[n]
	h.s[n] = flowItem{}
	h.s = h.s[:n]
	if n > 0 {
		h.replace(last)
	}
}

func (h *flowHeap) clear() {
	clear(h.s)
	h.s = h.s[:0]
}

// The two orders in which a flow holds its entries.
const (
	byScore     = 0
	byRemaining = 1
)

// entryHeap is a binary min-heap of entries by one of their two keys.
type entryHeap []*Entry

func (h *entryHeap) push(e *Entry, by int) {
	*h = append(*h, e)
	h.up(len(*h)-1, e, by)
}

func (h *entryHeap) remove(e *Entry, by int) {
	s := *h
	i, n := int(e.at[by]), len(s)-1
	last := s[n]
	s[n] = nil
	*h = s[:n]
	if i < n {
		last.at[by] = int32(i)
		h.fix(last, by)
	}
	e.at[by] = -1
}

// fix moves e to where its key belongs.
func (h *entryHeap) fix(e *Entry, by int) {
	i := int(e.at[by])
	if i > 0 && e.before((*h)[(i-1)/2], by) {
		h.up(i, e, by)
	} else {
		h.down(i, e, by)
	}
}

func (h *entryHeap) up(i int, e *Entry, by int) {
	s := *h
	for i > 0 && e.before(s[(i-1)/2], by) {
		s[i] = s[(i-1)/2]
		s[i].at[by] = int32(i)
		i = (i - 1) / 2
	}
	s[i] = e
	e.at[by] = int32(i)
}

func (h *entryHeap) down(i int, e *Entry, by int) {
	s := *h
	for c := 2*i + 1; c < len(s); c = 2*i + 1 {
		if c+1 < len(s) && s[c+1].before(s[c], by) {
			c++
		}
		if !s[c].before(e, by) {
			break
		}
		s[i] = s[c]
		s[i].at[by] = int32(i)
		i = c
	}
	s[i] = e
	e.at[by] = int32(i)
}

// before breaks ties by age, so that equal inputs give equal outputs.
func (e *Entry) before(o *Entry, by int) bool {
	return e.key[by] < o.key[by] || e.key[by] == o.key[by] && e.seq < o.seq
}
