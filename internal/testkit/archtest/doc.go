// Package archtest keeps the shape of the repository: which package may import
// which, what the pure core must not do, and what every package and page owes
// its reader.
//
// Each rule is a function from parsed sources to a list of [Violation]s. The
// tests run every rule twice: over the whole tree, where it must find nothing,
// and over a small planted source, where it must find what was planted. The
// tables ([Rows], [Deps], [Machines], [Systems]) are the place to change when the design
// changes; a row for a package that is not there yet does no harm.
//
// Nothing here is used by the product.
package archtest
