// Package source reads the items of a bulk action from CSV, NDJSON or JSON.
//
// [Open] looks at the first bytes and finds out compression (gzip, zstd), encoding, format,
// delimiter and id column; what it found is in [Reader.Detected], and every guess can be
// overruled in [Options]. [Reader.Items] then streams the items in file order. Memory is bounded
// by the largest item allowed and does not depend on the size of the file.
//
// What is wrong with one row is told as a [*RowError], with line and column, and reading goes on
// behind it; whether one bad row refuses the file is for the caller to say. What makes the rest
// of the file unreadable is an [*InputError], and ends the stream.
//
// The document of an NDJSON line or of an array element is passed on byte for byte, so that no
// number is rounded and no text repaired. A CSV row becomes a JSON object with one string member
// per column, in the order of the header.
//
// [Keys] is the set that tells whether an id came before.
package source
