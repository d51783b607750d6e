// Package scale decides how many workers a lane should have.
//
// [Decide] is Little's law on the rate that can truly be used: workers are
// needed for what arrives plus a share of the backlog, but never for more than
// the resource takes, because a worker beyond that would only wait. A backlog that
// piled up behind a stream is drained calmly, a bulk that came at once fast.
//
// Around the law stand the rules that make it calm. Growth has to be confirmed, by
// a second look or a long queue, and is stopped by errors, CPU and memory; where
// run times have jumped, tasks first have to show that they end well, and a new lane
// only doubles.
// Release looks back over a minute, waits longer after each change of mind, and
// then goes in halves. Floors come from the configuration, from a timetable and
// from what [History] learned.
//
// Other rules stand behind the same [Policy] type, so that they can be compared
// under the same load; [ByName] finds them. Every [Decision] carries a reason
// from a closed set and one sentence with the numbers.
//
// The package is pure: times are Unix nanoseconds passed in by the caller, and
// what a policy remembers is a [State] that goes in and comes back. A State is
// never changed in place, so it may be kept, written down and given again.
package scale
