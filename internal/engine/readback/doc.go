// Package readback tells what became of bulk actions: rows, lookups, reports, error groups, retries.
//
// It reads the store alone, so it works on any node, whichever owns the partition, and for bulk actions that have not
// ended. What it shows is durable. The meaning of a block's rows for an item is in one place, rows_block.go.
package readback
