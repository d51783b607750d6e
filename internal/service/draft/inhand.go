package draft

import "sync"

// inHand holds the ids that this process is working on.
type inHand struct {
	mu  sync.Mutex
	ids map[string]int
}

// begin marks an id as in hand, until the returned function is called.
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

// has reports whether an id is in hand.
func (h *inHand) has(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ids[id] > 0
}
