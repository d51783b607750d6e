// Package docstest keeps pages of documentation true.
//
// A page has parts that are made from the code, between two comments:
//
//	<!-- begin NAME -->
//	<!-- end NAME -->
//
// [Section] holds such a part against what it should be, or writes it anew if the
// environment variable UPDATE is set. The tests of this package play the commands
// of the guides against a server and compare what is printed.
//
// Nothing here is used by the product.
package docstest
