// Package api holds the types of weir's HTTP API, as server and clients share
// them. It imports only the standard library and package weir.
//
// Names on the wire are in snake case, times in RFC 3339 and UTC, durations as
// "1m30s", rates as "300/s". Lists come in pages; see [Page]. Errors are
// [Problem] values. The OpenAPI document is generated from the field tags.
package api
