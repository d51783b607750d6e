// Package fleettest runs whole nodes as separate processes, injects the faults that happen to
// machines, and checks from outside that no promise was broken.
//
// A [Fleet] consists of nodes on one Redis, Sentinel set or Cluster, a recording downstream
// that they call, and a client that submits bulk actions and records which were acknowledged.
// Nodes are killed, frozen, stopped and started again; the test injects faults of servers and
// network. [Fleet.Judge] lets all work end and compares the downstream's log with the reports
// and the acknowledgements:
//
//   - nothing that was acknowledged is lost, and nothing was invented;
//   - reports say what the downstream was called for, and answered;
//   - repeated calls are within what the faults account for, and charged to the disturbed lives;
//   - no second saw more calls than the limit, by the time at which nodes made them.
//
// The processes run the same program: it has to call [Child] before anything else.
package fleettest
