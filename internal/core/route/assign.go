package route

import (
	"cmp"
	"slices"

	"github.com/zeebo/xxh3"
)

// Node is a live node that may own partitions.
type Node struct {
	// Name identifies the node. Of several nodes of one name the biggest counts.
	Name string
	// Slots is the node's weight: how many tasks it is built to run at once, not
	// how many it runs now, or partitions would follow every change of load.
	// Less than 1 counts as 1.
	Slots int
}

// mostSlots keeps products of slots and counts far from overflow.
const mostSlots = 1 << 30

// Assign names the owner of each partition among nodes. Without nodes it returns no owners.
//
//   - Balanced: no node gets more than its share by slots, rounded up; counts of
//     nodes with equal slots differ by at most one; none has two partitions while
//     another has none.
//   - Few moves: held names the present owner of each partition, and owners stay as
//     far as balance allows. From a balanced start, a node that joins gets its
//     share and nothing else moves; of a node that leaves, only its own partitions move.
//   - Steady: while the moves are under way, with each partition still at its old
//     owner, at none or already at the new one, the answer stays the same.
//
// The order of partitions and nodes does not matter. held may be nil, and may have gaps and
// names of dead nodes: such partitions go to the best rendezvous score among the nodes with
// room. Assign needs the present owners because names alone cannot give both balance and few
// moves: under a tight bound on counts, one move forces the next.
func Assign(partitions []int, nodes []Node, held map[int]string) map[int]string {
	if len(nodes) == 0 {
		return nil
	}
	a := newAssignment(partitions, nodes)
	a.keep(held)
	a.place()
	out := make(map[int]string, len(a.partitions))
	for i, p := range a.partitions {
		out[p] = a.nodes[a.owner[i]].Name
	}
	return out
}

// assignment is the working state of one call of Assign. Nodes are identified by their index.
type assignment struct {
	partitions []int    // ascending
	owner      []int    // of each partition; -1 for none yet
	nodes      []Node   // biggest first, then by name
	hashes     []uint64 // of the nodes' names
	room       []int    // how many more partitions each node gets
}

func newAssignment(partitions []int, nodes []Node) *assignment {
	a := &assignment{partitions: slices.Clone(partitions), nodes: distinct(nodes)}
	slices.Sort(a.partitions)
	a.partitions = slices.Compact(a.partitions)
	a.owner = slices.Repeat([]int{-1}, len(a.partitions))
	a.hashes = make([]uint64, len(a.nodes))
	for i, n := range a.nodes {
		a.hashes[i] = xxh3.HashString(n.Name)
	}
	a.room = shares(len(a.partitions), a.nodes)
	return a
}

// distinct bounds the slots and orders nodes so that no input order shows.
func distinct(nodes []Node) []Node {
	out := slices.Clone(nodes)
	for i := range out {
		out[i].Slots = min(max(out[i].Slots, 1), mostSlots)
	}
	slices.SortFunc(out, func(x, y Node) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(y.Slots, x.Slots))
	})
	out = slices.CompactFunc(out, func(x, y Node) bool { return x.Name == y.Name })
	slices.SortStableFunc(out, func(x, y Node) int { return cmp.Compare(y.Slots, x.Slots) })
	return out
}

// shares returns how many of n partitions each node gets. They are given out one by one, each
// to the node with most slots per partition so far (the divisor method of Adams). Which of two
// nodes comes first does not depend on the others, so a new node only ever lowers the shares of
// those already there.
func shares(n int, nodes []Node) []int {
	got := make([]int, len(nodes))
	for range n {
		best := 0
		for i := range nodes {
			if int64(nodes[i].Slots)*int64(got[best]) > int64(nodes[best].Slots)*int64(got[i]) {
				best = i
			}
		}
		got[best]++
	}
	return got
}

// keep leaves partitions with their holders as long as these have room. A node with too many
// gives up those with its lowest scores. The choice does not depend on where they would go,
// since that may change during other moves.
func (a *assignment) keep(held map[int]string) {
	index := make(map[string]int, len(a.nodes))
	for i, n := range a.nodes {
		index[n.Name] = i
	}
	type claim struct {
		at, node int
		score    uint64
	}
	claims := make([]claim, 0, len(a.partitions))
	for at, p := range a.partitions {
		name, known := held[p]
		if node, live := index[name]; known && live {
			claims = append(claims, claim{at, node, score(a.hashes[node], uint64(p))})
		}
	}
	slices.SortStableFunc(claims, func(x, y claim) int { return cmp.Compare(y.score, x.score) })
	for _, c := range claims {
		if a.room[c.node] > 0 {
			a.room[c.node]--
			a.owner[c.at] = c.node
		}
	}
}

// place gives each partition without an owner to the node with the best score
// that has room. Shares add up to the number of partitions, so there is one.
func (a *assignment) place() {
	for at, p := range a.partitions {
		if a.owner[at] >= 0 {
			continue
		}
		best, top := -1, uint64(0)
		for i, h := range a.hashes {
			if a.room[i] == 0 {
				continue
			}
			if s := score(h, uint64(p)); best < 0 || s > top {
				best, top = i, s
			}
		}
		a.room[best]--
		a.owner[at] = best
	}
}
