package partition

import (
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/fault"
)

// mostCauses bounds how many causes of failed calls are counted separately.
const mostCauses = 8

// Cause records why calls of a bulk action failed, and how many.
type Cause struct {
	Step    int    `json:"step"`
	Code    string `json:"code"`
	Message string `json:"message,omitempty"` // of the newest call
	Count   int64  `json:"count"`
	First   int64  `json:"first"`
	Last    int64  `json:"last"`
	Failing bool   `json:"failing,omitempty"` // no call of the step has succeeded since

	kind string // the message without the parts that differ from call to call
}

// maxCause bounds the message of a cause, in bytes.
const maxCause = 512

// blame counts the cause of a failed call. The newest cause is the last.
func (b *bulk) blame(now int64, step int, v *verdict) {
	x := Cause{Step: step, Code: v.code, First: now, kind: string(fault.AppendNormal(nil, v.message))}
	if i := slices.IndexFunc(b.causes, func(c Cause) bool { return c.same(&x) }); i >= 0 {
		x = b.causes[i]
		b.causes = slices.Delete(b.causes, i, i+1)
	}
	x.Count++
	x.Last, x.Message = now, fault.Cut(v.message, maxCause)
	if len(b.causes) == mostCauses {
		b.causes = slices.Delete(b.causes, 0, 1)
	}
	b.causes = append(b.causes, x)
}

// same reports whether both are the same cause.
func (c *Cause) same(o *Cause) bool { return c.Step == o.Step && c.Code == o.Code && c.kind == o.kind }

// lastCause returns why calls last failed, over all shards; nil if none did.
func (b *bulk) lastCause() *Cause {
	var last *Cause
	if n := len(b.causes); n > 0 {
		x := b.causes[n-1]
		last = &x
	}
	if b.atHome() {
		for i := range b.shard.home.tallies {
			last = later(last, b.shard.home.tallies[i].Cause)
		}
	}
	if last != nil {
		last.Failing = b.callsOf(last.Step).Streak > 0
	}
	return last
}

// later returns the newer of two causes. If they are the same, their counts add up.
func later(a, b *Cause) *Cause {
	if a == nil || b == nil {
		if a == nil && b != nil {
			x := *b
			return &x
		}
		return a
	}
	x := *b
	x.kind = string(fault.AppendNormal(nil, x.Message))
	if x.same(a) {
		x.Count, x.First = x.Count+a.Count, min(x.First, a.First)
		x.Last = max(x.Last, a.Last)
		return &x
	}
	if a.Last > x.Last {
		return a
	}
	return &x
}

// because formats the cause for the end of a sentence; empty if unknown.
func (c *Cause) because() string {
	if c == nil {
		return ""
	}
	return ", the last with " + c.text()
}

// text returns code and message of a cause; most messages begin with their code.
func (c *Cause) text() string {
	if c.Message == "" {
		return c.Code
	}
	if strings.HasPrefix(c.Message, c.Code) {
		return c.Message
	}
	return c.Code + ": " + c.Message
}

// LastError returns the cause as the library shows it.
func (c *Cause) LastError(steps []string) *weir.LastError {
	if c == nil || c.Step >= len(steps) {
		return nil
	}
	return &weir.LastError{
		Step: steps[c.Step], Code: c.Code, Message: c.Message, Count: c.Count, Failing: c.Failing,
		First: time.Unix(0, c.First).UTC(), Last: time.Unix(0, c.Last).UTC(),
	}
}
