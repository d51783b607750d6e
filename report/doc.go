// Package report describes how every item of a bulk action ended, and writes it into files.
//
// A [Writer] takes rows one by one and writes them to a folder: done.csv, failed.csv,
// cancelled.csv, pending.csv, duplicates.csv and invalid.csv, each only if it has rows, or the
// same as NDJSON, and finally report.json. If report.json exists, the folder is complete.
// Nothing is capped or sampled, and [Writer.Close] refuses a summary whose counts do not match
// the rows.
//
// The package depends on neither stores nor the engine. Memory does not depend on the number of
// rows.
package report
