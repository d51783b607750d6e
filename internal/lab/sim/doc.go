// Package sim runs the real state machines of several nodes in one thread, on
// virtual time, over one store that fails, and judges everything they do.
//
// A [World] is made from a seed. The seed first draws which faults exist and how
// often; then nodes contend for the leases of a few partitions, users submit and
// command, and a simulated downstream answers calls and keeps the truth. Half of
// the seeds have bulk actions that are held, wait for a time, try a canary first,
// keep rates of their own, are changed while they run and have their events told,
// and tenants with limits. Faults end after sixty percent of the time; then all
// work has to end within a bound.
//
// The invariants are checked on the history: at every applied commit, at every
// dispatched call, at every published view, and once more at the end over the
// stored rows. The same seed gives the same trace, event by event.
package sim
