package server

import (
	"fmt"
	"sort"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
)

// maxRuns bounds what is remembered of where items stand.
const maxRuns = 1 << 16

// places remembers on which lines of a body its items stand: mostly each on the
// line after the one before, so that little has to be kept.
type places struct {
	items int64
	next  int64 // the line of the next item, if nothing is between
	runs  []run
	lost  bool // there were too many runs
}

// run is items on lines that follow each other.
type run struct {
	item int64 // the first one, counted from 1
	line int64
}

// add notes the line of the next item.
func (p *places) add(line int) {
	p.items++
	if int64(line) != p.next || p.items == 1 {
		if p.lost = p.lost || len(p.runs) == maxRuns; !p.lost {
			p.runs = append(p.runs, run{p.items, int64(line)})
		}
	}
	p.next = int64(line) + 1
}

// line returns the line of an item; 0 if it is not known.
func (p *places) line(item int64) int64 {
	i := sort.Search(len(p.runs), func(i int) bool { return p.runs[i].item > item }) - 1
	if i < 0 || item > p.items || p.lost && i == len(p.runs)-1 {
		return 0
	}
	return p.runs[i].line + item - p.runs[i].item
}

// What to do about two items with the same id: the rule of a draft cannot be changed.
const (
	keepOne  = "set duplicates to keep_first or keep_all to accept it"
	newDraft = "send it without the repeated item, or to a new draft that has duplicates keep_first or keep_all: the " +
		"rule of a draft cannot be changed"
)

// ofTwice tells of two items with the same id in a request.
func ofTwice(e *weir.DuplicateError, fix string) *problem {
	detail := fmt.Sprintf("items[%d].id: %q came before", e.Item-1, shorten(e.ID))
	if e.First > 0 {
		detail += fmt.Sprintf(", as items[%d]", e.First-1)
	}
	p := newProblem("duplicate_item", detail, fix)
	p.Errors = []api.Fault{{Code: p.Code, Field: fmt.Sprintf("items[%d].id", e.Item-1), Value: shorten(e.ID),
		Message: detail, Fix: p.Fix}}
	return p
}

// ofTwiceAt tells of two items with the same id in a body with lines.
func ofTwiceAt(e *weir.DuplicateError, at *places) *problem {
	line, first := at.line(e.Item), at.line(e.First)
	if line == 0 {
		return ofTwice(e, newDraft)
	}
	detail := fmt.Sprintf("line %d: the id %q came before", line, shorten(e.ID))
	if first > 0 {
		detail += fmt.Sprintf(", on line %d", first)
	}
	p := newProblem("duplicate_item", detail, newDraft)
	p.Errors = []api.Fault{{Code: p.Code, Line: line, Value: shorten(e.ID), Message: detail, Fix: p.Fix}}
	return p
}
