// Package sched decides which task runs next.
//
// Work hangs in a tree: resource, tier, tenant, bulk action (called [Group] here),
// and for each step of it an [Entry] that says how big its next task would be. Each
// level below the resource shares by start-time fair queuing: [Queue.Next] serves
// the least virtual start tag and charges it cost/weight, so busy tenants share by
// weight, however much each has waiting. Two lanes with a bounded budget go ahead
// of the tiers: express for small work that fair sharing already owes its service,
// and aged for tenants that have waited too long.
//
// Nothing is picked that may not run: rate, concurrency and caps are reserved in
// the same call. What is blocked leaves the tree and waits where its cause will
// wake it, so Next neither polls nor puts anything back.
//
// The package is pure: times are Unix nanoseconds given by the caller, and must not
// go backwards. A Queue belongs to one goroutine, the partition loop.
package sched
