// Package quota accounts for one limit that several nodes share.
//
// A [Table] knows the most that every node may have used (what the node reported as held and
// used, and what it was given), and which single permits were drawn. It gives away only the
// rest of the limit, so the sum over all nodes stays within the limit in every window,
// whichever messages are lost and whichever nodes die. The targets, set by the leader, decide
// how much each node gets.
//
// A [Planner] computes the targets at the leader: shares by weight of the nodes' demand. A
// [Keeper] is the side of one node: when to report, what the node may use until when, and when
// to draw a permit.
//
// Limits and reports are types of package store. The package is pure: the time is an argument,
// in nanoseconds, and never goes back. A Table belongs to one goroutine at a time.
package quota
