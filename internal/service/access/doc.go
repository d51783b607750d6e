// Package access decides who may do what, and writes down who did.
//
// Callers show an API key. [Keys] knows them by their SHA-256 only, and finds a
// [Principal] for one: its scopes say what it may do, its tenants say what it can
// see. A key names its own record, so that finding it costs one read, kept for less
// than a second: a key that is revoked on one node is refused on all within that time.
//
// [Limits] keeps one key from taking what all need. [Audit] is the list of changes:
// it can be added to and read, newest first, and old entries go by age or number.
//
// Everything is kept by package records, one record for each key and each entry, so
// all nodes that share a store share it.
package access
