// Package feed reads the items of a bulk action from other systems: a list behind a URL (a
// segment), a Postgres query, an object in S3-compatible storage, or a Kafka topic.
//
// [Open] returns a [Feed] for a [Spec]; [Feed.Read] returns one [Page]. The page's Next is the
// place to continue, and the only state to keep: a caller that stores a page's items and its
// Next in one write, and after a crash continues from the Next stored last, gets every item
// exactly once. A feed has no other state, so another process can continue as well. The
// guarantees of each source:
//
//   - Segment: the server's own cursor. A repeated read returns what the server answers then.
//   - Postgres: pages in the order of a key. Rows that appear behind the last key read
//     are read, those that appear before it are not.
//   - Object: one version, pinned by its ETag; another version is an error. Text
//     in lines continues at a byte offset. Compressed text, UTF-16 and JSON arrays
//     have no place to start in the middle: a new feed reads them again from the
//     start and skips what was read before.
//   - Kafka: partition after partition, from the start or a given place to the end as it
//     was at the first read. Records removed before they were read are an error.
//
// Memory is bounded by a page, whose items have at most [PageBytes] together.
//
// An error is a [*PermanentError], which a repeated read would return again, or a
// [*TransientError], after which the same cursor may be read again; when the context ended, it
// is the context's error.
//
// A feed connects to other systems only through [World]. The names and secrets of servers are
// in a [Connection], which a Spec refers to by name.
package feed
