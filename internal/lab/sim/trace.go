package sim

import (
	"fmt"
	"time"
)

// what names a kind of event in the trace.
type what uint8

// The kinds of event.
const (
	evStart what = iota
	evCrash
	evPause
	evWakeUp
	evDrain
	evOwn
	evDrop
	evHandOver
	evCommit
	evApplied
	evRefused
	evAnswer
	evCall
	evResult
	evSubmit
	evCommand
	evMessage
	evView
	evHeal
	evEnded
	evTell
)

var whatNames = [...]string{
	"node starts", "node crashes", "node pauses", "node goes on", "node drains", "owns", "drops", "hands over",
	"commits", "applied", "refused", "answer", "calls", "result", "submit", "command", "message", "view", "heals", "ended", "tells",
}

// event is one line of the trace. What it does not concern is negative or nil.
type event struct {
	at        int64
	what      what
	node      int
	partition int
	bulk      *truth
	step      int
	block     int
	items     []uint16
	a, b      int64
}

// trace hashes every event, and keeps them when it records.
type trace struct {
	world     *World
	recording bool
	hash      uint64
	count     int
	kept      []event
}

func (t *trace) add(e event) {
	e.at = t.world.Now()
	t.count++
	h := t.hash ^ uint64(e.at-epoch)
	bulk := int64(-1)
	if e.bulk != nil {
		bulk = int64(e.bulk.no)
	}
	for _, v := range [...]int64{int64(e.what), int64(e.node), int64(e.partition), bulk, int64(e.step), int64(e.block), e.a, e.b} {
		h = (h ^ uint64(v)) * 1099511628211
		h ^= h >> 29
	}
	for _, i := range e.items {
		h = (h ^ uint64(i)) * 1099511628211
	}
	t.hash = h
	if t.recording {
		e.items = append([]uint16(nil), e.items...)
		t.kept = append(t.kept, e)
	}
}

// about reports whether an event concerns an item of a bulk action, or everything.
func (e *event) about(b *truth, item int) bool {
	if e.bulk == nil {
		return e.partition < 0 || e.partition == b.partition
	}
	if e.bulk != b {
		return false
	}
	if item < 0 || e.items == nil {
		return true
	}
	for _, i := range e.items {
		if b.index(uint32(e.block), i) == item {
			return true
		}
	}
	return false
}

// text writes out the events that match, or all.
func (t *trace) text(match func(*event) bool) (lines []string) {
	for i := range t.kept {
		if e := &t.kept[i]; match == nil || match(e) {
			lines = append(lines, e.String())
		}
	}
	return lines
}

// String returns the event for people.
func (e *event) String() string {
	s := fmt.Sprintf("%12v  ", time.Duration(e.at-epoch))
	if e.node >= 0 {
		s += fmt.Sprintf("n%d ", e.node)
	}
	if e.partition >= 0 {
		s += fmt.Sprintf("p%d ", e.partition)
	}
	s += whatNames[e.what]
	if e.bulk != nil {
		s += fmt.Sprintf(" %s", e.bulk.spec.ID)
	}
	if e.items != nil {
		s += fmt.Sprintf(" step %d block %d items %v", e.step, e.block, e.items)
	}
	return s + fmt.Sprintf(" (%d, %d)", e.a, e.b)
}
