// Package fleet shows and sets what all nodes share: lanes, partitions and nodes, the limits of
// resources and tenants, scaling, and the health of this node and its store.
//
// A change is stored and applies on all nodes. The file's settings are the default; a change over
// the API takes precedence until it is removed.
package fleet
