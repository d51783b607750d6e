// Package model answers what-if questions: it runs the real scheduler core in
// virtual time over a described world, and tells when everything would finish.
//
// A [World] describes what is configured (nodes, resources with their limits, tenants,
// bulk actions) and what is not: how the downstream truly behaves, incidents included.
// [Run] simulates it: queues and fairness are those of package
// sched, limits those of limit and quota, worker counts are decided by scale, flow
// control by flow, backoff by retry, and the way of a bulk action to partitions by
// route. The model has no rules of its own for any of these; what it adds is the
// downstream, chance and the clock.
//
// Of package store it uses the words of limits and holdings, which quota speaks;
// it calls no store.
//
// What it leaves out: storage, the time that messages take, failures of nodes, CPU
// and memory. Items are counted, not held: an hour of a busy system takes seconds.
//
// The package is pure. Same world and same seed give the same [Result], and each
// part of the world draws from a stream of chance of its own, so that two worlds
// which differ in one setting meet the same luck elsewhere.
package model
