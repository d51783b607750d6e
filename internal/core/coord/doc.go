// Package coord decides how many workers each lane should have, from what all nodes observed.
// The leader runs it.
//
// Nodes describe their lanes in a [weir.Node] once a second. [Coordinator.Cycle] takes all of
// them with the operators' settings in [weir.Scaling], divides what each resource lets through
// among its lanes, asks the policy of package scale for every lane, and returns the decisions
// that are worth storing, each with its inputs and one sentence. The engine of the leader
// carries them out.
//
// The package is pure: time is an argument, in Unix nanoseconds, and nothing
// here does I/O. A new leader starts with an empty Coordinator: lanes keep the
// workers that they have until it has seen enough to decide otherwise.
package coord
