// Package recorder provides a downstream that logs every call, and a judge that checks the log.
//
// A [Server] has two HTTP batch actions, award and message. It runs in a process
// of its own, which no test kills, and appends an [Entry] for every item of
// every call to a file before it answers. Its answer follows from a seed and
// the item alone ([Fate]), with transient retries, permanent failures and items
// that never stop asking for another attempt; some calls are refused as a whole.
//
// [Verify] compares that file with the report of a run. It trusts neither: everything
// in the report must be in the file, and the order, keys and repeats of the calls must be as
// promised.
//
// Only the standard library is used: the judge shares no code with the judged.
package recorder
