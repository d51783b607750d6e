// Package badinput tests weir's answers to invalid input: over HTTP, in the library and on the
// command line. It has no other code.
//
// The cases are numbered, and the tests fail if a number is missing. Each case checks the
// status, the code, the message, and that nothing is left behind.
package badinput
