// Package retry decides whether a failed attempt is made again, and when.
//
// [Decide] answers for one task: exponential backoff with jitter, or longer if
// the resource asked for longer. [Plan] then places the tasks of one resource
// in slots of 100 ms, each with room for a fifth of what the resource takes in
// that time, so that however many tasks fail at once, their retries leave four
// fifths of the resource to first attempts.
//
// The package is pure: time and random numbers are arguments. A Plan belongs to
// one goroutine.
package retry
