// Package draft keeps bulk actions until they are submitted to the engine: it creates them, takes
// their items by append, upload or source, and seals them.
//
// A draft is a record and a log of parts. Each part is written once and names items that are stored
// already, so an append takes effect completely or not at all. Sealing writes the last part; then
// the items are submitted in the order of the log, by any node and after any crash, and the engine
// accepts them once. A request that brings all its items is submitted at once, without a draft.
package draft
