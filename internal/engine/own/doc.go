// Package own decides which partitions this node owns, and where new work goes.
//
// A [Member] announces its node, learns of the others through the store alone, takes the leases of the partitions that
// fall to it and hands over the rest. A [Tenure] is its time as the owner of one partition: the code that runs the partition
// writes with the token of the tenure, which the store refuses once another node owns it. [Layout] is the map of
// partitions, [Fleet] what is known of the other nodes and who leads them, [Router] chooses the partition of a submit.
//
// DESIGN.md has the rules that cross files: leases, tokens, who may repair, and what a restart may lose.
package own
