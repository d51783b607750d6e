// Package docstest keeps pages of documentation correct.
//
// A page has parts that are generated from the code, between two comments:
//
//	<!-- begin NAME -->
//	<!-- end NAME -->
//
// [Section] compares such a part with its expected text, or rewrites it if the environment
// variable UPDATE is set. The tests of this package run the commands of the guides against a
// server and compare the output.
//
// Nothing here is used by the product.
package docstest
