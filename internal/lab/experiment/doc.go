// Package experiment runs the real core, scheduler, limits, quotas, scaling and
// flow control, in virtual time and compares what it sees with the targets of
// the design: one line for each.
//
// Experiments are functions of a size and fixed seeds. The tests run them small;
// the command in package all runs them whole and writes docs/experiments.md. The
// seeds here judge the core; none of them was used to choose a constant of it.
package experiment
