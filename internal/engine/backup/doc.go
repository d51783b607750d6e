// Package backup copies everything that lasts in a store to a file, and from a file to an empty store of any backend.
//
// [Write] reads a snapshot: the bulk actions with their items, inboxes, claims and rows, and all records. [Restore] writes
// them to an empty store, and [Check] only reads the file. A store that holds part of a backup is marked: no engine opens
// it before the restore has ended, and a restore that died is run again. [Hold] keeps a store that several processes can
// use to this one, while it is copied.
//
// The copy is logical, not one of files, so that the same file is a backup and the way from one backend to another.
//
// A restored store goes on where the copy was made. What the former store did since is not known: items that ran since run
// again, with the same idempotency keys. That is noted as a loss of each partition, so that reports show it, unless the
// caller says that nothing was done since.
package backup
