// Package experiment runs the real core, scheduler, limits, quotas, scaling and
// flow control, in virtual time and compares what it sees with the targets of
// the design: one line for each.
//
// An experiment is a world and a check. All worlds stand on the clock and the loop of
// package virtual. Whole engines are worlds of package model, and nodes of real partition
// machines where storing and commands matter. What a model leaves out is judged by a driver of
// one part: the queue with hundreds of thousands of tenants ([Crowd] and drive), a lane under a
// scaling policy with new leaders, full nodes and late workers (laneModel), the rule of a rate
// (refuser), and nodes that die or lose their store while they share a limit (owners).
//
// Experiments are functions of a size and fixed seeds: over plays a world with each seed and
// makes one line of all runs. The tests run them small; the command in package all runs them
// whole and writes docs/experiments.md. The seeds here judge the core; none of them was used
// to choose a constant of it.
package experiment
