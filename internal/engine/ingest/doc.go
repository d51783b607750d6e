// Package ingest takes items in: it checks them, compares their ids, cuts them into blocks and writes those.
//
// Nothing is accepted by that: a bulk action is, when the message that names it is in the inbox of its partition, which
// is the engine's work. Until then its blocks are garbage that the next owner of the partition removes, unless a submit
// is under way. [Backlog] knows those, and bounds how many items may be pending. [Intake] also sets items and bytes
// aside for a bulk action to come, which adopts the blocks as they are. DESIGN.md says how, and what a crash leaves.
package ingest
