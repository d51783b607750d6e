package chain

import "time"

// LingerFor is how long a block waits at a later step for more of its items, so that a fast
// earlier step does not feed it one by one.
const LingerFor = int64(time.Second)

// Where is the queue of a step that a block is in.
type Where uint8

// The places of a block.
const (
	Nowhere Where = iota
	Lingering
	Ready
)

// Queue holds the blocks with ready items at one step: those that tasks are cut from, in
// order, and those that linger for more of their items. The caller keeps where each block is.
// A method that returns a time wants Due to be called then; 0: not because of this call.
type Queue[B any] struct {
	ready  FIFO[B]
	linger FIFO[lingering[B]]
}

type lingering[B any] struct {
	block B
	due   int64 // it is cut then even if it is small
}

// Len returns the number of blocks that tasks can be cut from.
func (q *Queue[B]) Len() int { return q.ready.Len() }

// First returns the block that the next task is cut from.
func (q *Queue[B]) First() B { return *q.ready.First() }

// Push lets tasks be cut from a block.
func (q *Queue[B]) Push(b B, at *Where) {
	*at = Ready
	q.ready.Push(b)
}

// Place queues a block that has ready items: to linger if they are few, which is fewer than a
// task has with more to come, else to be cut.
func (q *Queue[B]) Place(now int64, b B, at *Where, few bool) (alarm int64) {
	switch {
	case *at == Ready:
	case !few:
		q.Push(b, at)
	case *at == Nowhere:
		return q.lingerAt(now, b, at)
	}
	return 0
}

// Took notes that a task was cut from the first block, of which none are left or few.
func (q *Queue[B]) Took(now int64, at *Where, none, few bool) (alarm int64) {
	switch {
	case none:
		*at = Nowhere
		q.ready.Pop()
	case few:
		return q.lingerAt(now, q.ready.Pop(), at)
	}
	return 0
}

func (q *Queue[B]) lingerAt(now int64, b B, at *Where) (alarm int64) {
	*at = Lingering
	q.linger.Push(lingering[B]{b, now + LingerFor})
	if q.linger.Len() == 1 {
		return now + LingerFor
	}
	return 0
}

// Due lets blocks be cut that have lingered long enough.
func (q *Queue[B]) Due(now int64, where func(B) *Where) (alarm int64) {
	for q.linger.Len() > 0 && q.linger.First().due <= now {
		b := q.linger.Pop().block
		if at := where(b); *at == Lingering {
			q.Push(b, at)
		}
	}
	if q.linger.Len() > 0 {
		return q.linger.First().due
	}
	return 0
}

// FIFO is first in, first out. What has left it is not kept in memory.
type FIFO[T any] struct {
	items []T
	head  int
}

// Len returns how many there are.
func (q *FIFO[T]) Len() int { return len(q.items) - q.head }

// Push adds one.
func (q *FIFO[T]) Push(x T) {
	if q.head > 32 && q.head*2 > len(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, x)
}

// First returns the first one, which stays. There has to be one.
func (q *FIFO[T]) First() *T { return &q.items[q.head] }

// Pop removes and returns the first one. There has to be one.
func (q *FIFO[T]) Pop() T {
	x := q.items[q.head]
	clear(q.items[q.head : q.head+1])
	q.head++
	return x
}
