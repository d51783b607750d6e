// Package quota keeps the books of one limit that several nodes share.
//
// A [Table] knows of every node how much it may have used at most (what it said
// that it holds and has used, and what it was given), and which single permits
// were drawn. It gives away only what is left of the limit after all of that,
// so the sum over all nodes stays within the limit in every window, whichever
// messages are lost and whoever dies. What to give to whom is decided elsewhere
// and comes in as targets.
//
// A [Planner] computes the targets at the leader: shares by weight of what the
// nodes want. A [Keeper] is the side of one node: when to report, what it may use
// until when, and when to draw a permit.
//
// The limit and what nodes say are those of package store. The package is pure:
// the time is an argument, in nanoseconds, and never goes back. A Table belongs to one
// goroutine at a time.
package quota
