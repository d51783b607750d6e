package own

import "time"

// SilentAfter is how long a node may miss its announcements until it is taken to
// be dead or cut off. It starts nothing from then on: the limits that it has read hold no longer than that.
// A node at rest announces itself less often, and uses nothing that the others wait for: it is heard for longer.
const SilentAfter = 1200 * time.Millisecond

// hearing is when each node was last heard of. Its announcement alone does not tell: it outlives the node by a lease.
type hearing struct {
	looked time.Time
	nodes  map[string]heard
}

type heard struct {
	beat uint64
	at   time.Time
	rest bool
}

// look takes note of what is announced now. What a node holds ends a lease after it was heard of last; it is
// forgotten later than that.
func (h *hearing) look(now time.Time, announced map[string]Record, lease time.Duration) {
	if h.nodes == nil {
		h.nodes = map[string]heard{}
	}
	h.looked = now
	for name, n := range announced { // order does not reach a result
		if last, known := h.nodes[name]; !known || n.Beat == 0 || n.Beat != last.beat { // 0: of an earlier version
			h.nodes[name] = heard{n.Beat, now, n.Rest}
		}
	}
	for name, last := range h.nodes { // order does not reach a result
		if now.Sub(last.at) > 2*lease {
			delete(h.nodes, name)
		}
	}
}

// silent lists the nodes that had not been heard of for some time at the last look.
func (h *hearing) silent() map[string]bool {
	names := map[string]bool{}
	for name, last := range h.nodes { // into a map: the order does not reach it
		after := SilentAfter
		if last.rest {
			after += restEvery
		}
		if h.looked.Sub(last.at) >= after {
			names[name] = true
		}
	}
	return names
}
