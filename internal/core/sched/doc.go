// Package sched decides which task runs next.
//
// Work forms a tree: resource, tier, tenant, bulk action ([Bulk]), and for each of
// its steps an [Entry] that holds the size of its next task. Each level below the resource
// shares by start-time fair queuing: [Queue.Next] serves the lowest virtual start tag and
// charges it cost/weight, so busy tenants share by weight, however much each has waiting. Two
// paths with a bounded budget go ahead of the tiers: express for small work that fair sharing
// already owes its service, and aged for tenants that have waited too long.
//
// A task is picked only if it may run: rate, concurrency and caps are reserved in the same
// call. Blocked work leaves the tree and waits in the place that its cause wakes, so Next
// neither polls nor puts anything back.
//
// The package is pure: times are Unix nanoseconds given by the caller. A Queue is not safe for
// concurrent use. The partitions of a node share one, each as a [Party], under a lock of the
// caller.
package sched
