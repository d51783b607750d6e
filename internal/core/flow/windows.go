package flow

import (
	"time"
)

const (
	windowNanos = int64(Window)

	// patience is how long a window waits for its tasks to end.
	patience = 2 * time.Second

	// ringLen is the number of windows in a ring: those that wait for their tasks, those not
	// yet returned by Settled, and the one that is filling.
	ringLen = 32

	// longestBlock bounds a Retry-After.
	longestBlock = int64(time.Hour)
)

// Seen counts the outcomes of the tasks that were sent in one window.
type Seen struct {
	// No numbers the window: the Unix time of dispatch in nanoseconds, divided by [Window].
	No int64
	// Tasks is the number of tasks, and Sent the number of their items.
	Tasks int
	Sent  int64
	// Squares is the sum of the squares of the tasks' item counts; 0: all tasks have equally
	// many.
	Squares int64
	// Refused is the number of items refused for exceeding a limit, and Timed the number of
	// those with a Retry-After.
	Refused, Timed int64
	// Until is the latest Retry-After time, 0 for none.
	Until int64
}

// Block returns until when a resource must not be called, because more than half of what was
// sent in the window was refused with a Retry-After. Below that, or with only a few tasks, only
// the refused ones wait.
func (s Seen) Block() (until int64, blocked bool) {
	if s.Tasks < fewTasks || 2*s.Timed <= s.Sent {
		return 0, false
	}
	return s.back(), true
}

// back returns the Retry-After time, at most an hour ahead.
func (s Seen) back() int64 { return min(s.Until, (s.No+1)*windowNanos+longestBlock) }

// closed reports whether all was refused with a Retry-After.
func (s Seen) closed() bool { return s.Sent > 0 && s.Timed == s.Sent }

// alike returns the equivalent number of tasks of equal size: a large task among small ones has
// nearly all of the items, and is one task.
func (s Seen) alike() float64 {
	if s.Squares == 0 {
		return float64(s.Tasks)
	}
	return float64(s.Sent) * float64(s.Sent) / float64(s.Squares)
}

// add returns the sum of two windows.
func (s Seen) add(o Seen) Seen {
	s.Tasks += o.Tasks
	s.Sent += o.Sent
	s.Squares += o.Squares
	s.Refused += o.Refused
	s.Timed += o.Timed
	s.Until = max(s.Until, o.Until)
	return s
}

// Windows counts, on one node, the outcomes of a resource's tasks. Each item that ends is
// counted exactly once: in the window in which it was sent, or, if that was already returned,
// in the one in which it ends. The zero value is empty.
type Windows struct {
	ring [ringLen]window
	next int64 // windows before this one have been returned
	from int64 // tasks sent before are ignored
}

// Forget drops all tasks that were sent before now.
func (w *Windows) Forget(now int64) { *w = Windows{from: now} }

// window is a window that is filling.
type window struct {
	Seen
	started int64 // items sent, whether ended or not
	lone    int   // tasks that have not ended
}

// Sent records the start of a task of so many items.
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

// at returns the window of that number, cleared if the ring has wrapped around.
func (w *Windows) at(no int64) *window {
	x := &w.ring[uint64(no)%ringLen]
	if x.No != no {
		*x = window{Seen: Seen{No: no}}
	}
	return x
}

// Ended records the end of a task sent at sentAt, and how many of its items were refused. until
// is the Retry-After time, 0 if there was none.
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

// Settled appends to dst the complete windows, in order, each once: those that are over and
// whose tasks have all ended, or that are older than two seconds. It returns no window before
// the earlier ones, and none in which nothing ended. A caller that asks less often than every
// five seconds loses windows.
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
	w.next = max(w.next, current) // the ring does not reach back further
	return dst
}
