// Package virtual is the ground that simulations stand on: a clock that moves from event
// to event, streams of random numbers from one seed, and what worlds in virtual time measure.
//
// Events happen in order of time, and those of one time in the order in which they were
// set. Nothing in the package looks at the time or at chance outside, so a world that
// stands on it replays from its seed.
//
// The package is pure. A Clock and what is on it belong to one goroutine.
package virtual
