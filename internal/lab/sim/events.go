package sim

import "github.com/weirhq/weir/internal/core/heap"

// events is what is to happen, by time and then by order of entry.
type events struct {
	heap heap.Heap[due]
	seq  uint64
}

type due struct {
	at  int64
	seq uint64
	do  func()
}

// Before orders events.
func (d due) Before(e due) bool { return d.at < e.at || d.at == e.at && d.seq < e.seq }

func (h *events) len() int { return len(h.heap) }

func (h *events) push(at int64, do func()) {
	h.seq++
	h.heap.Push(due{at, h.seq, do})
}

func (h *events) pop() due { return h.heap.Pop() }
