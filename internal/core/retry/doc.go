// Package retry decides when a failed attempt is made again.
//
// [Delay] answers for one task: exponential backoff with jitter. While first attempts wait
// for the resource as well, a [Budget] holds retries to a fifth of its rate: however many
// tasks fail at once, four fifths are left to first attempts. [Turns] keeps that for all steps on a resource, in
// the engine and in the model alike.
//
// The package is pure: time and random numbers are arguments. Budget and Turns
// belong to one goroutine.
package retry
