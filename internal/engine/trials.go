package engine

import (
	"sync"
	"sync/atomic"

	"github.com/weirhq/weir/internal/core/partition"
)

// trials holds the turn of this node's suspects for its partitions, whose loops run beside each other.
type trials struct {
	mu    sync.Mutex
	turns partition.Turns[*part]
	quiet atomic.Bool // as turns has it: loops ask each time
}

// do uses the turns.
func (t *trials) do(use func(*partition.Turns[*part]) bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer func() { t.quiet.Store(t.turns.IsQuiet()) }()
	return use(&t.turns)
}

// join counts a partition in whose loop is about to run.
func (t *trials) join(p *part) {
	t.do(func(x *partition.Turns[*part]) bool { x.Join(p); return true })
}

// leave counts a partition out.
func (t *trials) leave(p *part) {
	t.do(func(x *partition.Turns[*part]) bool { x.Leave(p); return true })
}

// LookAgain has the loop take a turn.
func (p *part) LookAgain() { p.mail.put(input{turn: true}) }

// turns is a partition's way to the trials of its node.
type turns struct{ part *part }

// Take implements partition.Trials.
func (x turns) Take() bool {
	return x.part.engine.parts.trials.do(func(t *partition.Turns[*part]) bool { return t.Take(x.part) })
}

// Quiet implements partition.Trials.
func (x turns) Quiet() bool {
	return x.part.engine.parts.trials.do(func(t *partition.Turns[*part]) bool { return t.Quiet(x.part) })
}

// Give implements partition.Trials.
func (x turns) Give() {
	x.part.engine.parts.trials.do(func(t *partition.Turns[*part]) bool { t.Give(x.part); return true })
}

// hushed reports whether the partition must start nothing for the sake of another's suspect.
func (p *part) hushed() bool {
	t := &p.engine.parts.trials
	return t.quiet.Load() && t.do(func(x *partition.Turns[*part]) bool { return x.Hushed(p, len(p.running) == 0) })
}
