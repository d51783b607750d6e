package partition

import (
	"slices"

	"github.com/weirhq/weir"
)

// Answer says what became of a command.
type Answer uint8

// The answers to a command.
const (
	Unread  Answer = iota // the owner has not read it yet
	Obeyed                // it changed the bulk action
	Ignored               // it changed nothing: another was first, or the bulk action had ended
)

// mostAnswers is how many answers of each kind are kept. Their senders look for them right after.
const mostAnswers = 16

// Answers has the marks of the last commands that were read, oldest first. Of many that ask for the same, their
// senders see by it which one did it. Those that were ignored do not displace the others.
type Answers struct {
	Obeyed  []string `json:"obeyed,omitempty"`
	Ignored []string `json:"ignored,omitempty"`
}

// note adds the mark of a command.
func (a *Answers) note(mark string, obeyed bool) {
	list := &a.Ignored
	if obeyed {
		list = &a.Obeyed
	}
	kept := (*list)[max(0, len(*list)-mostAnswers+1):]
	*list = append(slices.Clone(kept), mark) // readers may have the old one
}

// Answer returns what became of the command with a mark. What has not been read when the bulk action ends is ignored.
func (s *Status) Answer(mark string) Answer {
	switch {
	case slices.Contains(s.Answers.Obeyed, mark):
		return Obeyed
	case slices.Contains(s.Answers.Ignored, mark), s.State.Final():
		return Ignored
	}
	return Unread
}

// stance is what commands change, except for rules.
type stance struct {
	state   weir.BulkState
	startAt int64
	phase   phase
}

func (b *bulk) stance() stance { return stance{b.state, b.status.StartAt, b.status.Phase} }
