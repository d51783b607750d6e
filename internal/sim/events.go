package sim

// events is a heap of what is to happen, by time and then by order of entry.
type events struct {
	heap []due
	seq  uint64
}

type due struct {
	at  int64
	seq uint64
	do  func()
}

func (h *events) len() int { return len(h.heap) }

func (h *events) less(i, j int) bool {
	a, b := &h.heap[i], &h.heap[j]
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}

func (h *events) push(at int64, do func()) {
	h.seq++
	h.heap = append(h.heap, due{at, h.seq, do})
	for i := len(h.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.less(i, up) {
			break
		}
		h.heap[i], h.heap[up] = h.heap[up], h.heap[i]
		i = up
	}
}

func (h *events) pop() due {
	top, last := h.heap[0], len(h.heap)-1
	h.heap[0] = h.heap[last]
	h.heap[last] = due{}
	h.heap = h.heap[:last]
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			break
		}
		if c+1 < last && h.less(c+1, c) {
			c++
		}
		if !h.less(c, i) {
			break
		}
		h.heap[i], h.heap[c] = h.heap[c], h.heap[i]
		i = c
	}
	return top
}
