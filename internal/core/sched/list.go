package sched

// The two lists that a flow can be in at the same time.
const (
	inTurn    = 0 // a tier's flows by when they were served last, or those it asks, or its lingering flows
	inExpress = 1
)

type links struct{ prev, next *flow }

// flowList is a doubly linked list through the flows themselves.
type flowList struct{ first, last *flow }

func (l *flowList) pushBack(f *flow, which int) {
	f.links[which] = links{prev: l.last}
	if l.last == nil {
		l.first = f
	} else {
		l.last.links[which].next = f
	}
	l.last = f
}

func (l *flowList) remove(f *flow, which int) {
	k := f.links[which]
	if k.prev == nil {
		l.first = k.next
	} else {
		k.prev.links[which].next = k.next
	}
	if k.next == nil {
		l.last = k.prev
	} else {
		k.next.links[which].prev = k.prev
	}
	f.links[which] = links{}
}

func (l *flowList) moveToBack(f *flow, which int) {
	if l.last != f {
		l.remove(f, which)
		l.pushBack(f, which)
	}
}
