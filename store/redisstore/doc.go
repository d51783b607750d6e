// Package redisstore keeps everything in Redis or Valkey: one server, a Sentinel
// set or a Cluster, version 7.0 or later.
//
// All keys of a partition carry it in their hash tag, as in weir:{prod:p17}:rows,
// so they live in one slot and no command crosses partitions. What must be atomic
// is one script of a few lines; rules stay with the caller.
//
//	meta         hash    token, owner, number of the last commit
//	lease        string  owner, expires with the lease
//	rows, index  hash of the rows, and a sorted set of their keys for scans in order
//	inbox        stream with ids by the server's time; read by a call that blocks in the server
//	claims       hash
//	owners       set of the bulk actions that have blocks
//	n:ID         set of the numbers of a bulk action's blocks
//	b:ID:NO      a block
//	mark         written before waiting for replicas
//
// For now one engine at a time may work on a stage, and all submits go through
// it: an engine that starts takes blocks that nobody in its own process is
// submitting for left over.
//
// [Open] asks the server how durable a write is, and refuses one that keeps less
// than [Options].Mode promises or may evict keys.
package redisstore
