// Package migrate brings what an earlier version has stored to the format of this one.
//
// [Run] is called when an engine opens a store, before anything else of it is read. If the map of partitions has the number
// of an earlier format, it makes the changes in the table of changes.go that came after that number, one partition after
// the other. No node may use the store meanwhile.
//
// The map says that a migration has begun before anything is changed, with the new number: from then on earlier versions
// refuse the store. It also says how many partitions are done, so a migration that was killed is continued by the next
// engine that opens the store. Every change can be repeated, so it makes no difference how much of a partition was done.
// Of several nodes that start at once one migrates, and the others wait for it.
package migrate
