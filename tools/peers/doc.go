// Peers measures other queues at what weir's own benchmarks measure, in turns with weir and on the same machine:
//
//	make peers ROUNDS=5
//
// It is a module of its own, so that nobody who builds weir gets the servers and clients of others.
//
// Each queue is used as its documentation shows, with its defaults: NATS JetStream on disk, published to asynchronously
// and consumed with explicit acknowledgements; it syncs its files every two minutes, where weir's embedded store syncs
// before it accepts. What a queue has no notion of (a report, exactly one result per item, fairness, limits) is not
// asked of it.
package main
