// Package source reads the items of a bulk action from CSV, NDJSON or JSON.
//
// [Open] detects compression (gzip, zstd), encoding, format, delimiter and id column from the
// first bytes. [Reader.Detected] returns the result, and [Options] can override each guess.
// [Reader.Items] then streams the items in file order. Memory is bounded by the largest item
// allowed and does not depend on the size of the file.
//
// An error in one row is a [*RowError], with line and column, and reading continues after it;
// the caller decides whether one bad row refuses the file. An error that makes the rest of the
// file unreadable is an [*InputError], and ends the stream.
//
// The document of an NDJSON line or of an array element is passed on byte for byte, so that no
// number is rounded and no text repaired. A CSV row becomes a JSON object with one string
// member per column, in the order of the header.
//
// [Keys] is a set that detects duplicate ids.
package source
