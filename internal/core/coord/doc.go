// Package coord is what the leader decides: how many workers each lane should
// have, from what all nodes observed.
//
// Nodes describe their lanes in a [Node] once a second. [Coordinator.Cycle] takes
// all of them with the [Settings] of the operators, divides what each resource
// lets through among its lanes, asks the policy of package scale for every lane,
// and returns the decisions that are worth storing, each with its inputs and one
// sentence. Whoever leads carries them out: see the engine.
//
// The package is pure: time is an argument, in Unix nanoseconds, and nothing
// here does I/O. A new leader starts with an empty Coordinator: lanes keep the
// workers that they have until it has seen enough to decide otherwise.
package coord
