package engine

import (
	"slices"
	"sync"
	"sync/atomic"
)

// trials lets one suspect at a time run on this node, and keeps the rest of the
// node quiet for one that has to run alone. What a suspect is, and when it runs,
// is decided in package partition.
type trials struct {
	mu      sync.Mutex
	parts   []*part        // that this node runs
	waiting []*part        // were refused, and are woken when the turn is free
	turn    *part          // whose suspect runs; nil: none
	quiet   atomic.Bool    // no other partition may start a task; changed under mu
	still   map[*part]bool // run nothing while it is quiet
}

// join counts a partition in whose loop is about to run.
func (t *trials) join(p *part) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parts = append(t.parts, p)
}

// leave counts a partition out: its tasks have ended, or are not this node's to wait for.
func (t *trials) leave(p *part) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parts = slices.DeleteFunc(t.parts, func(x *part) bool { return x == p })
	t.waiting = slices.DeleteFunc(t.waiting, func(x *part) bool { return x == p })
	if t.turn == p {
		t.end()
	}
}

// end makes the turn free, and wakes all that wait for it or were kept quiet.
func (t *trials) end() {
	quiet := t.quiet.Swap(false)
	wake := t.waiting
	if quiet {
		wake = t.parts
	}
	t.turn, t.still, t.waiting = nil, nil, nil
	for _, p := range wake {
		p.mail.put(input{turn: true})
	}
}

// turns is a partition's way to the trials of its node.
type turns struct{ part *part }

// Take implements partition.Trials.
func (x turns) Take() bool {
	t := &x.part.engine.parts.trials
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turn == nil {
		t.turn = x.part
	}
	if t.turn != x.part && !slices.Contains(t.waiting, x.part) {
		t.waiting = append(t.waiting, x.part)
	}
	return t.turn == x.part
}

// Quiet implements partition.Trials.
func (x turns) Quiet() bool {
	t := &x.part.engine.parts.trials
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.quiet.Swap(true) {
		t.still = map[*part]bool{}
		for _, p := range t.parts {
			p.mail.put(input{turn: true})
		}
	}
	return !slices.ContainsFunc(t.parts, func(p *part) bool { return p != x.part && !t.still[p] })
}

// Give implements partition.Trials.
func (x turns) Give() {
	t := &x.part.engine.parts.trials
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turn == x.part {
		t.end()
	}
}

// hushed reports whether the partition must start nothing for the sake of
// another's suspect. Once it runs nothing it says so.
func (p *part) hushed() bool {
	t := &p.engine.parts.trials
	if !t.quiet.Load() {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.quiet.Load() || t.turn == p {
		return false
	}
	if len(p.running) == 0 && !t.still[p] {
		t.still[p] = true
		t.turn.mail.put(input{turn: true})
	}
	return true
}
