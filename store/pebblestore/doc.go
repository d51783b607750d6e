// Package pebblestore keeps a store in a directory of the local disk, with the
// embedded key-value library Pebble. It is the backend of a single node.
//
// All partitions share one write-ahead log, and everything below rests on its
// order: what was written earlier is durable whenever something later is. So
// blocks are written without waiting for the disk, and the message that names
// them waits once for both; commits that come at the same time share one sync.
//
// A disk can lie, fill up and break. What is done about it:
//
//   - Damage inside the log is an error when the store is opened, never a
//     silently shorter log (see openLog and tail.go).
//   - A second file remembers what was acknowledged, a second ago at most, which
//     files there are, and the checksum of the list of tables. A store that has
//     less than that does not open; see [LossError].
//   - A failed sync ends the process; see [Options.OnFatal].
//   - A disk that fills up refuses new work early, and has a reserve for the
//     work that is already there. Without it commits wait for space, and
//     readers go on (see space.go).
package pebblestore
