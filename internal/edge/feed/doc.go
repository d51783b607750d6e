// Package feed brings the items of a bulk action from elsewhere: a list behind
// a URL (a segment), a Postgres query, an object in S3-compatible storage, or a
// Kafka topic.
//
// [Open] makes a [Feed] of a [Spec]; [Feed.Read] brings one [Page]. The page's Next
// says where to go on, and is all that has to be kept: whoever stores a page's
// items and its Next in one write, and after a crash reads on from the Next
// stored last, has every item exactly once. Nothing of a feed lives elsewhere,
// so another process can go on as well. What each source promises of that:
//
//   - Segment: the far side's own cursor. Reading again gives what it answers then.
//   - Postgres: pages in the order of a key. Rows that appear behind the last key read
//     are read, those that appear before it are not.
//   - Object: one version, pinned by its ETag; another version is an error. Text
//     in lines goes on at a byte offset. Compressed text, UTF-16 and JSON arrays
//     have no place to begin in the middle: a new feed reads them again from the
//     start and passes over what was read before.
//   - Kafka: partition after partition, from the start or a given place to the end as it
//     was at the first read. Records removed before they were read are an error.
//
// Memory is bounded by a page, whose items have at most [PageBytes] together.
//
// An error is a [*PermanentError], which reading again would only repeat, or
// [*TransientError], after which the same cursor may be read again; when the
// context ended, it is the context's error.
//
// A feed reaches the world by what [World] holds. The names and secrets of
// servers are in a [Connection], which a Spec only names.
package feed
