package partition

import "slices"

// Turns decides which partition of a node may run a suspect: one at a time, and while the suspect has to run alone no
// other partition starts a task. A P is a partition of the node, which looks again when that makes sense. The zero
// value is ready. It is for one goroutine at a time.
type Turns[P interface {
	comparable
	LookAgain()
}] struct {
	parts   []P        // that the node runs
	waiting []P        // were refused, and look again when the turn is free
	turn    P          // whose suspect runs; zero: none
	quiet   bool       // no other partition may start a task
	still   map[P]bool // run nothing while it is quiet
}

// Join counts a partition in whose loop is about to run.
func (t *Turns[P]) Join(p P) { t.parts = append(t.parts, p) }

// Leave counts a partition out: its tasks have ended, or are not this node's to wait for.
func (t *Turns[P]) Leave(p P) {
	is := func(x P) bool { return x == p }
	t.parts, t.waiting = slices.DeleteFunc(t.parts, is), slices.DeleteFunc(t.waiting, is)
	t.Give(p)
}

// Take is [Trials].Take of a partition.
func (t *Turns[P]) Take(p P) bool {
	var none P
	if t.turn == none {
		t.turn = p
	}
	if t.turn != p && !slices.Contains(t.waiting, p) {
		t.waiting = append(t.waiting, p)
	}
	return t.turn == p
}

// Quiet is [Trials].Quiet of a partition.
func (t *Turns[P]) Quiet(p P) bool {
	if !t.quiet {
		t.quiet, t.still = true, map[P]bool{}
		lookAgain(t.parts)
	}
	return !slices.ContainsFunc(t.parts, func(x P) bool { return x != p && !t.still[x] })
}

// Give is [Trials].Give of a partition: those look again that wait for the turn, or were kept quiet.
func (t *Turns[P]) Give(p P) {
	if t.turn != p {
		return
	}
	wake := t.waiting
	if t.quiet {
		wake = t.parts
	}
	*t = Turns[P]{parts: t.parts}
	lookAgain(wake)
}

func lookAgain[P interface{ LookAgain() }](parts []P) {
	for _, p := range parts {
		p.LookAgain()
	}
}

// IsQuiet reports whether partitions other than the one with the turn must start nothing.
func (t *Turns[P]) IsQuiet() bool { return t.quiet }

// Hushed reports whether a partition must start nothing for the sake of another's suspect, and takes note of one that
// runs nothing.
func (t *Turns[P]) Hushed(p P, idle bool) bool {
	if !t.quiet || t.turn == p {
		return false
	}
	if idle && !t.still[p] {
		t.still[p] = true
		t.turn.LookAgain()
	}
	return true
}
