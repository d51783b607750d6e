// Package api holds the types of weir's HTTP API, as server and clients share
// them. It needs the standard library alone.
//
// Names on the wire are in snake case, times in RFC 3339 and UTC, durations as
// "1m30s", rates as "300/s". Lists come in pages; see [Page]. What goes wrong is
// a [Problem]. The field tags are where the OpenAPI document is made of.
package api
