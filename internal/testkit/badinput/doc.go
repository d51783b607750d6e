// Package badinput holds the tests of what weir answers to input that is wrong:
// over HTTP, in the library and on the command line. There is nothing else in it.
//
// The cases are numbered, and the tests fail if a number is missing. Each refusal
// has its status, its code, what is said about it, and leaves nothing behind.
package badinput
