package service

import "sync"

// inHand is what this process is at, by id.
type inHand struct {
	mu  sync.Mutex
	ids map[string]int
}

// begin notes that something is in hand, until the function that it returns is called.
func (h *inHand) begin(id string) (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ids == nil {
		h.ids = map[string]int{}
	}
	h.ids[id]++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.ids[id]--; h.ids[id] == 0 {
			delete(h.ids, id)
		}
	}
}

// has reports whether something is in hand.
func (h *inHand) has(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ids[id] > 0
}
