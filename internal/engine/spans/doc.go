// Package spans makes the spans of bulk actions: of the submit, of tasks and their calls, and of attempts at items.
//
// The submit decides, once, whether a bulk action is traced. Its span is stored with the bulk action, so that every
// node continues the same trace. Of a traced bulk action, tasks with a traced item have spans (see package trace), and
// so have tasks in which something failed, up to [failuresPerSecond] on a node. What a task of the latter calls cannot
// know that it will fail: it is told that the trace is not recorded.
//
// A nil [Maker], and a nil [Task], make no spans.
package spans
