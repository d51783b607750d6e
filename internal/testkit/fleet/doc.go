// Package fleet runs whole nodes as processes of their own, does to them what
// happens to machines, and has an outside judge say whether a promise was broken.
//
// A [Fleet] is some nodes on one Redis, Sentinel set or Cluster, a recording
// downstream that they call, and a client that submits bulk actions and writes
// down which were acknowledged. Nodes are killed, frozen, stopped and started
// again; what happens to the servers or the network is up to the test. [Fleet.Judge] lets all
// work end and holds the downstream's books against the reports and the acknowledgements:
//
//   - nothing that was acknowledged is lost, and nothing was invented;
//   - reports say what the downstream was called for, and answered;
//   - repeated calls are within what the faults account for, and charged to who was disturbed;
//   - no second saw more calls than the limit, by the time at which nodes made them.
//
// The processes are the running program again: it has to call [Child] before anything else.
package fleet
