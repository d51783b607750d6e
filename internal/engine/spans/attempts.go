package spans

import "sync"

// attempts remembers the last attempts at items of which this node has made spans, so that the next one can name it.
// After another node has taken an item over, its first attempt there names none.
type attempts struct {
	mu    sync.Mutex
	last  map[attempted][8]byte
	order []attempted // a ring of what is in last, oldest at next
	next  int
}

// attempted is an item of a traced bulk action.
type attempted struct {
	trace [16]byte
	item  int64
}

// remembered bounds the items; they take about 100 bytes each.
const remembered = 4096

// swap notes the span of an attempt, and returns that of the one before.
func (a *attempts) swap(of attempted, span [8]byte) (before [8]byte, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil {
		a.last = map[attempted][8]byte{}
	}
	before, ok = a.last[of]
	a.last[of] = span
	switch {
	case ok:
	case len(a.order) < remembered:
		a.order = append(a.order, of)
	default:
		delete(a.last, a.order[a.next])
		a.order[a.next] = of
		a.next = (a.next + 1) % remembered
	}
	return before, ok
}
