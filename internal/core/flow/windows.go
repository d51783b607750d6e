package flow

import (
	"time"
)

const (
	windowNanos = int64(Window)

	// patience is how long a window waits for its tasks to end.
	patience = 2 * time.Second

	// ringLen is how many windows a ring holds: those that wait, those that nobody
	// has asked for yet, and the one that is filling.
	ringLen = 32

	// longestBlock bounds what a Retry-After may ask for.
	longestBlock = int64(time.Hour)
)

// Seen is what became of the tasks that were sent in one window.
type Seen struct {
	// No numbers the window: the Unix time of dispatch in nanoseconds, divided by [Window].
	No int64
	// Tasks is the number of tasks, and Sent of their items.
	Tasks int
	Sent  int64
	// Squares is the sum of the squares of the tasks' items; 0: all tasks have as many.
	Squares int64
	// Refused is how many of the items were refused for being too many, and Timed how
	// many of those with a time to come back.
	Refused, Timed int64
	// Until is the latest of these times, 0 for none.
	Until int64
}

// Block tells until when a resource has to be left alone, because more than half
// of what was sent in the window was refused with a time to come back. Below
// that, or if there were only a few tasks, no more than the refused ones wait.
func (s Seen) Block() (until int64, blocked bool) {
	if s.Tasks < fewTasks || 2*s.Timed <= s.Sent {
		return 0, false
	}
	return s.back(), true
}

// back is the time to come back, no more than an hour ahead.
func (s Seen) back() int64 { return min(s.Until, (s.No+1)*windowNanos+longestBlock) }

// closed tells that all was refused with a time to come back.
func (s Seen) closed() bool { return s.Sent > 0 && s.Timed == s.Sent }

// alike is how many tasks of the same size would tell as much: a large one among small ones
// stands for nearly all of the items, and is one task.
func (s Seen) alike() float64 {
	if s.Squares == 0 {
		return float64(s.Tasks)
	}
	return float64(s.Sent) * float64(s.Sent) / float64(s.Squares)
}

// add sums up two windows.
func (s Seen) add(o Seen) Seen {
	s.Tasks += o.Tasks
	s.Sent += o.Sent
	s.Squares += o.Squares
	s.Refused += o.Refused
	s.Timed += o.Timed
	s.Until = max(s.Until, o.Until)
	return s
}

// Windows counts, on one node, what became of the tasks of a resource. Each item
// that ends is counted exactly once: in the window in which it was sent, or, if that
// has been handed out already, in the one in which it ends. The zero value is empty.
type Windows struct {
	ring [ringLen]window
	next int64 // windows before this one have been handed out
	from int64 // what was sent before does not count
}

// Forget leaves out all that was sent before now.
func (w *Windows) Forget(now int64) { *w = Windows{from: now} }

// window is a window that fills.
type window struct {
	Seen
	started int64 // items sent, whether ended or not
	lone    int   // tasks that have not ended
}

// Sent notes that a task of so many items starts.
func (w *Windows) Sent(now int64, items int) {
	no := now / windowNanos
	if no < w.next {
		return // the clock went back: counted when it ends
	}
	if w.next == 0 {
		w.next = no
	}
	x := w.at(no)
	x.lone++
	x.started += int64(items)
}

// at returns the window of that number, emptied if the ring has come round.
func (w *Windows) at(no int64) *window {
	x := &w.ring[uint64(no)%ringLen]
	if x.No != no {
		*x = window{Seen: Seen{No: no}}
	}
	return x
}

// Ended notes that a task ended which was sent at a time, with how many of its
// items refused. until is when the downstream said to come back, 0 if it did not.
func (w *Windows) Ended(now, sentAt int64, items, refused int, until int64) {
	if sentAt < w.from {
		return
	}
	no := sentAt / windowNanos
	x := &w.ring[uint64(no)%ringLen]
	if no < w.next || x.No != no {
		x = w.at(max(now/windowNanos, w.next)) // late: counted as if sent now
		x.started += int64(items)
		x.lone++
	}
	x.lone--
	x.Tasks++
	x.Seen.Sent += int64(items)
	x.Squares += int64(items) * int64(items)
	x.Refused += int64(refused)
	if until > 0 {
		x.Timed += int64(refused)
		x.Until = max(x.Until, until)
	}
}

// Settled appends to dst the windows that are complete, in order, each once:
// those that are over and whose tasks have all ended, or that are older than two
// seconds. A window is not handed out before those that came before it, and not
// at all if nothing of it has ended. Whoever asks less often than every five
// seconds loses some.
func (w *Windows) Settled(now int64, dst []Seen) []Seen {
	current := now / windowNanos
	if w.next == 0 {
		return dst
	}
	for last := w.next + ringLen; w.next < min(current, last); w.next++ {
		x := &w.ring[uint64(w.next)%ringLen]
		if x.No != w.next {
			continue
		}
		if x.lone > 0 && now-(w.next+1)*windowNanos < int64(patience) {
			return dst
		}
		if x.Tasks > 0 {
			dst = append(dst, x.Seen)
		}
		*x = window{}
	}
	w.next = max(w.next, current) // a ring holds no more
	return dst
}
