// Package watch shows the progress of bulk actions: counts, the time left, why they do not run
// faster, and streams of events that a reader can continue on any node.
package watch
