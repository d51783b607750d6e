package spans

import (
	"fmt"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
)

// ending says how a task ended.
type ending struct {
	counts        [6]int // of items by kind of outcome
	failed        bool   // something failed
	whole         bool   // the task as a whole
	first         int    // position of the first item that failed
	code, message string // of the task, or of that item
}

// read looks at what a call said of the items of a task.
func (e *ending) read(done *weir.Task, f *partition.Failure) {
	if f != nil {
		e.failed, e.whole, e.code, e.message = !f.Refused, !f.Refused, f.Code, f.Message
		return
	}
	if done == nil {
		return
	}
	for i := range done.Outcomes {
		o := &done.Outcomes[i]
		if int(o.Kind) < len(e.counts) {
			e.counts[o.Kind]++
		}
		if e.failed || o.Kind != weir.OutcomeNone && o.Kind != weir.OutcomeRetry && o.Kind != weir.OutcomeFailed {
			continue
		}
		e.failed, e.first, e.code, e.message = true, i, o.Code, o.Message
		if o.Kind == weir.OutcomeNone {
			e.code = "no_result"
		}
	}
}

// text says why, and at how many items.
func (e *ending) text() string {
	switch n := e.counts[weir.OutcomeNone] + e.counts[weir.OutcomeRetry] + e.counts[weir.OutcomeFailed]; {
	case !e.failed:
		return ""
	case e.whole:
		return e.reason()
	default:
		return fmt.Sprintf("items failed: %d; the first: %s", n, e.reason())
	}
}

func (e *ending) reason() string {
	if e.code == "" || e.message == "" {
		return e.code + e.message
	}
	return e.code + ": " + e.message
}
