// Package report writes down how every item of a bulk action ended.
//
// A [Writer] takes rows one by one and puts them in a folder: done.csv, failed.csv, cancelled.csv, pending.csv,
// duplicates.csv and invalid.csv, each only if it has rows, or the same as NDJSON, and at last report.json. The
// presence of report.json says that the folder is whole. Nothing is capped or sampled, and [Writer.Close] refuses a
// summary whose counts are not those of the rows.
//
// The package knows neither stores nor the engine. Memory does not depend on the number of rows.
package report
