package sched

import "math/bits"

// tagShift is the fixed point of tags: one item at weight 1/1024 is 1<<tagShift.
const tagShift = 30

// creditPace is the factor by which virtual time is slower than fair sharing while flows with
// credit are served, see DESIGN.md.
const creditPace = 4

// ownTurn is the number of express turns after which the flow that is next by its tag is served
// itself, however much it has to do.
const ownTurn = 4

// crowd is the number of express flows of a tier above which they take turns.
const crowd = 32

// rebaseAt is the virtual time at which the tags are moved back towards zero.
const rebaseAt = int64(1) << 61

// perWeight returns the tag distance of cost items at weight w.
func perWeight(cost, w int64) int64 { return (cost << tagShift) / w }

// tier is one of the four priority levels on one resource.
type tier struct {
	r         *Resource
	index     int
	base      int64 // configured weight
	agedAfter int64

	tag     int64   // start tag at the root
	perItem float64 // what one item adds to tag: the inverse of the guarded weight
	v       int64   // virtual time of the flows
	weight  int64   // of the flows in the tree
	flows   int     // in the tree
	held    int     // of these, in the second heap
	asked   int     // of these, in no heap: see flowAsked
	busy    uint32  // number of the busy period

	main, second flowHeap // second: flows that the slot guard has set aside
	turn         flowList // flows in the tree, the least recently served first
	asks         flowList // flows whose parties have not reported what is left
	linger       flowList // idle flows whose tag is still needed

	express [classes]flowList // flows with little to do, by size
	filled  uint32            // bit i: express[i] is not empty
	small   int               // flows in express
	owed    uint32            // picks by the tier of flows with credit
}

func (t *tier) init(r *Resource, o *Options, k int) {
	*t = tier{r: r, index: k, base: tierWeights[k], agedAfter: int64(o.AgedAfter[k])}
	t.perItem = float64(int64(1)<<tagShift) / float64(t.base)
}

// push puts f into the heap of its state under its present tag.
func (t *tier) push(f *flow) {
	h := &t.main
	if f.state == flowHeld {
		h = &t.second
	}
	if len(h.s) >= 2*t.flows+64 {
		t.rebuild(h, f.state)
	}
	f.heapKey = f.tag
	h.push(flowItem{f.tag, f})
}

// rebuild removes stale items from h. They would otherwise stay until the next pick.
func (t *tier) rebuild(h *flowHeap, state flowState) {
	h.s = make([]flowItem, 0, t.flows+64)
	for f := t.turn.first; f != nil; f = f.links[inTurn].next {
		if f.state == state {
			f.heapKey = f.tag
			h.push(flowItem{f.tag, f})
		}
	}
}

// top returns the flow of the given state with the least tag, nil if there is none.
func (t *tier) top(h *flowHeap, state flowState) *flow {
	for len(h.s) > 0 {
		it := h.s[0]
		f := it.f
		switch {
		case f.state != state || f.heapKey != it.key:
			h.pop()
		case f.tag > it.key:
			f.heapKey = f.tag
			h.replace(flowItem{f.tag, f})
		default:
			return f
		}
	}
	return nil
}

// next returns the flow that is served next. If that is an express flow, the one with the least
// to do takes its place; not every time, or the larger ones, and the flows behind them, would
// wait for as long as small ones keep coming. Flows that the slot guard has set aside come
// last.
func (t *tier) next() *flow {
	f := t.top(&t.main, flowActive)
	switch {
	case f == nil:
		return t.top(&t.second, flowHeld)
	case f.class != noClass && t.owed%ownTurn != 0:
		return t.smallest()
	}
	return f
}

// crowded reports whether the tier has more than crowd express flows. Then they take turns,
// task by task, and keep their class. Otherwise the flow with the least left is served to its
// end.
func (t *tier) crowded() bool { return t.small > crowd }

// smallest returns the express flow with the least to do, nil if there is none.
func (t *tier) smallest() *flow {
	if t.filled == 0 {
		return nil
	}
	return t.express[bits.TrailingZeros32(t.filled)].first
}

// serve charges cost to f, which has been picked. Virtual time follows the flows that are
// served. Flows with credit are behind it; virtual time still advances for them, or a stream of
// new ones would keep all others waiting.
func (t *tier) serve(now int64, f *flow, cost int64, path Path) {
	if path == PathTier && f.tag < t.v {
		t.owed++
		t.v += perWeight(cost, t.weight) / creditPace
	}
	t.v = max(t.v, f.tag)
	f.tag += perWeight(cost, f.weight)
	f.lastServed = now
	t.turn.moveToBack(f, inTurn)
	if f.class != noClass && t.crowded() {
		t.express[f.class].moveToBack(f, inExpress)
	}
}

// charge moves the root's virtual time to t and charges cost to it.
func (t *tier) charge(cost int64) {
	t.r.vRoot = t.tag
	t.tag += int64(float64(cost) * t.perItem)
	if t.r.vRoot > rebaseAt {
		v := t.r.vRoot
		t.r.vRoot = 0
		for k := range t.r.tiers {
			t.r.tiers[k].tag -= v
		}
	}
}

// enter adds f to the tree and exit removes it.
func (t *tier) enter(f *flow) {
	if t.flows == 0 {
		t.tag = max(t.tag, t.r.vRoot)
		t.r.occupied |= 1 << t.index
	}
	t.flows++
	t.weight += f.weight
	t.r.weight += f.weight
	t.r.backlog += f.backlog
	t.r.active++
}

func (t *tier) exit(f *flow) {
	t.flows--
	t.weight -= f.weight
	t.r.weight -= f.weight
	t.r.backlog -= f.backlog
	t.r.active--
	if t.flows == 0 {
		// The busy period is over: the order within it no longer matters.
		t.busy++
		t.r.occupied &^= 1 << t.index
		t.main.clear()
		t.second.clear()
	}
}

// guardTiers computes the weights of the tiers. Plain weights would let a tenant of a crowded
// tier get less than one of a lower tier with few tenants, so a tier gets at least what makes
// its tenants' shares relate like the weights. Tenants of other nodes count like those here; a
// tier here has the part of its weight that its tenants here account for.
func (r *Resource) guardTiers() {
	lower := -1
	var lowerW, lowerAll float64
	var part, whole, weight float64
	for k := Tiers - 1; k >= 0; k-- {
		t := &r.tiers[k]
		all := float64(t.weight + r.beside[k])
		if all == 0 {
			continue
		}
		w := float64(t.base)
		if lower >= 0 {
			w = max(w, lowerW*float64(t.base)/float64(r.tiers[lower].base)*all/lowerAll)
		}
		lower, lowerW, lowerAll = k, w, all
		whole, weight = whole+w, weight+all
		if here := w * float64(t.weight) / all; here > 0 {
			t.perItem = float64(int64(1)<<tagShift) / here
			part += here
		}
	}
	if r.part = 0; whole > 0 {
		r.part = part / whole * weight
	}
}

// rebase moves all tags of t back by its virtual time.
func (q *Queue) rebase(t *tier) {
	v := t.v
	t.v = 0
	for _, tenant := range q.tenants { // order does not reach a result: each tag is moved by the same
		for f := tenant.flows; f != nil; f = f.next {
			if f.tier == t {
				f.tag -= v
				f.heapKey -= v
			}
		}
	}
	for _, h := range []*flowHeap{&t.main, &t.second} {
		for i := range h.s {
			h.s[i].key -= v
		}
	}
}
