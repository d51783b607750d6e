// Package weir holds the words of weir, a bulk-action engine: what a bulk
// action, an item, a batch, an outcome, an action, a resource and a step are.
//
// A bulk action is one request over hundreds to millions of items. Each item is
// taken through a chain of actions. An [Action] is a Go function over a
// [Batch], or an HTTP batch endpoint ([HTTPAction]); it answers per item: done,
// retry, failed, left out. Package engine runs bulk actions; this package has
// no behaviour of its own beyond what users fill in and read back, and imports
// the standard library only.
package weir
