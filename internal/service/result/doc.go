// Package result reads and handles the results of bulk actions: items, reports and exports, the
// dead-letter queue, retries and undo.
//
// Which items were retried or discarded is one record per bulk action. An entry of it takes the items
// that match its selector and that no earlier entry took, so the record stays small. Retry and undo
// meet in that record: whichever comes second is refused. Each is recorded before it is carried out,
// and any node finishes it under the same key.
package result
