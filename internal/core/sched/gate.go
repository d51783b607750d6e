package sched

import "github.com/weirhq/weir/internal/core/limit"

// Gate limits the tasks that go from a resource's queue to its downstream. [limit.Gate] and the node's capacity
// implement it.
type Gate interface {
	// Peek returns the earliest time at which asking makes sense; a time not after
	// now means now. With math.MaxInt64 it promises a call of WakeResource later.
	Peek(now int64) int64
	// Take reserves what a task of the given cost needs, all or nothing. If it refuses, at is
	// as for Peek; otherwise at is the time by which the task has to start.
	Take(now int64, cost int) (at int64, ok bool)
	// Fits returns, after a task of cost items was refused, how many of them could be taken
	// now, and when at least least could; 0 and math.MaxInt64 mean that only the whole task
	// fits.
	Fits(now int64, cost, least int) (n int, at int64)
	// Most returns how many items a task of a tenant at a step may have. While calls probe whether a
	// downstream that failed works again, that is 1: more would say no more of it, and one of
	// them may be the reason.
	Most(tenant string, step int) int
	// Late tells that what was taken at a time, without a time to start by, starts now.
	Late(taken, now int64, cost int)
	// Bound returns how many tasks may be in flight at once; 0: any number.
	Bound() int
	// Release returns what one Take holds.
	Release(now int64)
	// Idle reports that the resource has nothing to run now.
	Idle(now int64)
	// Cause returns the reason of the last refusal.
	Cause() limit.Cause
}
