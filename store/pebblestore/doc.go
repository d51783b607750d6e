// Package pebblestore keeps a store in a directory of the local disk, with the
// embedded key-value library Pebble. It is the backend of a single node.
//
// All partitions share one write-ahead log, and everything below relies on its order: earlier
// writes are durable whenever a later one is. So blocks are written without waiting for the
// disk, and the message that names them waits once for both; concurrent commits share one sync.
//
// A disk can lose data, fill up and break. The store handles that as follows:
//
//   - Damage inside the log is an error when the store is opened, never a
//     silently shorter log (see openLog and tail.go).
//   - A second file records what was acknowledged, up to a second ago, which files
//     exist, and the checksum of the list of tables. A store that has less than
//     that does not open; see [LossError].
//   - A failed sync ends the process; see [Options.OnFatal].
//   - A store on a disk that fills up refuses new work early, and has a reserve for
//     existing work. Without it commits wait for space, and readers continue (see
//     space.go).
package pebblestore
