// Package redisstore keeps everything in Redis or Valkey: one server, a Sentinel
// set or a Cluster, version 7.0 or later.
//
// All keys of a partition carry it in their hash tag, as in weir:{prod:p17}:rows, so they are
// in one slot and no command crosses partitions. Each atomic operation is one script of a few
// lines; the rules stay with the caller.
//
//	meta         hash    token, owner, number of the last commit and the token that made it
//	lease        string  owner, expires with the lease
//	rows, index  hash of the rows, and a sorted set of their keys for scans in order
//	inbox        stream with ids by the server's time; read by a call that blocks in the server
//	claims       hash
//	owners       set of the bulk actions that have blocks
//	n:ID         set of the numbers of a bulk action's blocks
//	b:ID:NO      a block
//	mark         written before waiting for replicas
//	life         a name that a flush takes away, see [Store.Incarnation]
//	topic:NAME, record:NAME  what nodes announce, and lasting records, of [store.Control] alone
//	records      sorted set of the names of the lasting records
//
// Any number of nodes can work on a stage at once. The token of a node's lease decides whether
// it may write to a partition, in the same script that writes; times are the server's. Other
// keys hold what nodes publish and share, in the slot of partition [store.Control].
//
// Every block, message, claim and row ends with a CRC32C of its place and content, which reads
// check: damage is [store.ErrCorrupt].
//
// A failover or a restart may set a server back to an earlier moment. Tokens and sequence
// numbers do not repeat then, for they follow the server's time; the clocks of a primary and
// its replicas must agree to within the second or so that a failover takes. [Store.Last] and
// [Store.Incarnation] reveal a loss, and the client that wrote the lost data restores it.
//
// [Open] checks how durable a write is on the servers, and refuses those that keep less than
// [Options].Mode promises or may evict keys. The checks repeat while the store is open;
// [Store.Health] returns what has become worse. An error that is [store.ErrUnavailable] is
// transient: the servers fail over, start, are full or unreachable. One that is
// [store.ErrUnknown] may have been written.
package redisstore
