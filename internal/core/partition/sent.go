package partition

import (
	"maps"

	"github.com/weirhq/weir"
)

// A store that is set back loses commands that it had acknowledged, so their senders repeat what they sent lately. They
// cannot know whether it was lost, nor what others have sent since. The owner can: a command that it has read, or that
// a newer one about the same has followed, has no effect when it is repeated.

// Sent tells when the newest commands that were read had been sent, by their senders' clocks.
type Sent struct {
	Hold  int64            `json:"hold,omitempty"`  // pause and resume
	Start int64            `json:"start,omitempty"` // start and unset
	Rules map[string]int64 `json:"rules,omitempty"` // change, by rule
}

// note adds a command.
func (s *Sent) note(c *Command) {
	switch c.Verb {
	case Pause, Resume:
		s.Hold = max(s.Hold, c.Sent)
	case Start, Unset:
		s.Start = max(s.Start, c.Sent)
	case Change:
		rules := map[string]int64{} // readers may have the old one
		maps.Copy(rules, s.Rules)
		eachRule(c.Rules, func(rule string, _ func()) { rules[rule] = max(rules[rule], c.Sent) })
		s.Rules = rules
	}
}

// left returns what a repeated command still has to do; nil: nothing. The other verbs have no effect when they are
// repeated.
func (s *Sent) left(c *Command) *Command {
	switch c.Verb {
	case Pause, Resume:
		if c.Sent <= s.Hold {
			return nil
		}
	case Start, Unset:
		if c.Sent <= s.Start {
			return nil
		}
	case Change:
		if c.Rules == nil {
			return nil
		}
		some, rules := false, *c.Rules
		rules.Rates = maps.Clone(rules.Rates)
		eachRule(&rules, func(rule string, remove func()) {
			if c.Sent <= s.Rules[rule] {
				remove()
			} else {
				some = true
			}
		})
		if !some {
			return nil
		}
		left := *c
		left.Rules = &rules
		return &left
	}
	return c
}

// eachRule calls do with the name of each rule that a change sets, and with what removes it from the change.
func eachRule(r *weir.Rules, do func(rule string, remove func())) {
	if r == nil {
		return
	}
	if r.Tier != nil {
		do("tier", func() { r.Tier = nil })
	}
	if r.Priority != nil {
		do("priority", func() { r.Priority = nil })
	}
	if r.Concurrency != nil {
		do("concurrency", func() { r.Concurrency = nil })
	}
	if r.StopOn != nil {
		do("stop_on", func() { r.StopOn = nil })
	}
	for step := range r.Rates { // the order does not reach an output: each rule is noted or removed by itself
		do("rate of "+step, func() { delete(r.Rates, step) })
	}
}
