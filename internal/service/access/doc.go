// Package access decides which caller may do what, and records who did it.
//
// Callers send an API key. [Keys] stores only the SHA-256 of a key, and returns its [Principal]:
// its scopes say what it may do, its tenants say what it can see. A key names its own record, so
// that finding it costs one read, cached for less than a second: a key that is revoked on one node
// is refused on all within that time.
//
// [Limits] bounds what one key takes of a node. [Audit] is the list of changes: entries are added
// and read, newest first, and old ones are removed by age or number.
//
// Package records stores everything, one record for each key and each entry, so all nodes that
// share a store share it.
package access
