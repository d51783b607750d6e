// Package archtest checks the structure of the repository: which package may import which, what
// the pure core must not do, and what every package and page must contain.
//
// Each rule is a function from parsed sources to a list of [Violation]s. The tests run every
// rule twice: over the whole tree, where it must find nothing, and over a small planted source,
// where it must find the violation. When the design changes, change the tables ([Rows], [Deps],
// [Machines], [Systems]); a row for a package that does not exist yet is harmless.
//
// Nothing here is used by the product.
package archtest
