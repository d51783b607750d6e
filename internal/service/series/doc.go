// Package series measures a node every ten seconds and answers with time series: of all nodes, of a
// resource, of a bulk action.
//
// Each node writes what it counted into a record of its own, one for five minutes; the leader adds
// what all nodes together had. Reading merges the records of all nodes. After an hour the leader
// makes one step of each record, and after a day removes it.
//
// A bulk action has one record, which the owner of its home writes after it moved. The record holds
// how it moved; how far it came is read from the bulk action itself, so that the sums are right
// whatever was not recorded.
package series
