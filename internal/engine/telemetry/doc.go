// Package telemetry counts what a node does, for its metrics.
//
// The loop of each partition counts for itself, in a [Counter] and in [Lanes], and hands over what it has once a second:
// a task costs a few additions and no lock. A [Recorder] adds up the counts of all loops and exports them to Prometheus
// when it is asked. [Shares] tells how tenants share resources.
//
// Labels are partitions, actions, resources, closed sets of words, and the fifty tenants with the most to do: never an
// item or a bulk action. No counter goes back while the process lives.
package telemetry
