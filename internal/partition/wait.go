package partition

import (
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/block"
)

// retryTask is items of one task that are tried again together.
type retryTask struct {
	at      *step
	l       *live
	items   []uint16
	attempt int // the one to come
	fails   int // times that the whole task failed
	due     int64

	// Only while a result is applied: what decides how long it waits.
	after   time.Duration
	refused bool
}

// wait is something with a due time: a retry, a block that lingers, a deadline.
type wait struct {
	due   int64
	seq   uint64 // order of equal times
	retry *retryTask
	step  *step       // its oldest lingering block is due
	bulk  weir.BulkID // its deadline; an id, so that one that ended long before is not kept
}

// waits is a binary heap by due time.
type waits struct {
	heap []wait
	seq  uint64
}

func (w *waits) next() int64 {
	if len(w.heap) == 0 {
		return Never
	}
	return w.heap[0].due
}

func (w *waits) less(i, j int) bool {
	a, b := &w.heap[i], &w.heap[j]
	return a.due < b.due || a.due == b.due && a.seq < b.seq
}

func (w *waits) push(e wait) {
	w.seq++
	e.seq = w.seq
	w.heap = append(w.heap, e)
	for i := len(w.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !w.less(i, up) {
			break
		}
		w.heap[i], w.heap[up] = w.heap[up], w.heap[i]
		i = up
	}
}

func (w *waits) pop() wait {
	top, last := w.heap[0], len(w.heap)-1
	w.heap[0] = w.heap[last]
	w.heap[last] = wait{}
	w.heap = w.heap[:last]
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			break
		}
		if c+1 < last && w.less(c+1, c) {
			c++
		}
		if !w.less(c, i) {
			break
		}
		w.heap[i], w.heap[c] = w.heap[c], w.heap[i]
		i = c
	}
	return top
}

// due acts on everything whose time has come.
func (m *Machine) due(now int64) {
	for m.waits.next() <= now {
		switch w := m.waits.pop(); {
		case w.retry != nil:
			m.retryDue(now, w.retry)
		case w.step != nil:
			m.lingerDue(now, w.step)
		case m.bulks[w.bulk] != nil:
			m.cancel(now, m.bulks[w.bulk], "deadline", "deadline")
		}
	}
}

// retryDue puts waiting items back to the place they had.
func (m *Machine) retryDue(now int64, r *retryTask) {
	b := r.at.bulk
	if b.state.Final() {
		return
	}
	b.waiting -= int64(len(r.items))
	r.at.queued += int64(len(r.items))
	r.at.retries.push(r)
	r.at.retries.join(r.at.chunk)
	m.offer(now, r.at)
}

// join makes one task of the first retries, as far as they are of one block and
// attempt and fit: failures of single items would else come back one by one. What
// failed as a whole stays apart, to be halved.
func (h *retryHeap) join(most int) {
	for len(*h) > 1 {
		a := h.pop()
		b := (*h)[0] // in a statement of its own: only then is it read after the pop
		fits := a.l == b.l && a.attempt == b.attempt && a.fails == 0 && b.fails == 0 && len(a.items)+len(b.items) <= most
		if fits {
			h.pop()
			a.items = append(a.items, b.items...)
			slices.Sort(a.items)
			a.due = max(a.due, b.due)
			a.l.retries = slices.DeleteFunc(a.l.retries, func(x *retryTask) bool { return x == b })
		}
		h.push(a)
		if !fits {
			return
		}
	}
}

// retryHeap holds due retries by their place in the bulk action.
type retryHeap []*retryTask

func (h *retryHeap) less(i, j int) bool {
	a, b := (*h)[i], (*h)[j]
	return a.l.no < b.l.no || a.l.no == b.l.no && a.items[0] < b.items[0]
}

func (h *retryHeap) push(r *retryTask) {
	*h = append(*h, r)
	for i := len(*h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.less(i, up) {
			break
		}
		(*h)[i], (*h)[up] = (*h)[up], (*h)[i]
		i = up
	}
}

func (h *retryHeap) pop() *retryTask {
	top, last := (*h)[0], len(*h)-1
	(*h)[0] = (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
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
		(*h)[i], (*h)[c] = (*h)[c], (*h)[i]
		i = c
	}
	return top
}

// set is the items of a retry as the row holds them.
func (r *retryTask) set() (s block.Set) {
	for _, i := range r.items {
		s.Add(int(i))
	}
	return s
}
