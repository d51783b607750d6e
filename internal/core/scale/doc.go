// Package scale decides how many workers a lane should have.
//
// [Decide] applies Little's law to the rate that can really be used: workers are needed for
// what arrives plus a share of the backlog, but never for more than the resource takes, because
// a worker beyond that would only wait. A backlog that piled up behind a stream is drained
// slowly, a bulk that came at once fast.
//
// Further rules keep the number stable. Growth has to be confirmed, by a second cycle or a long
// queue, and is stopped by errors, CPU and memory. Where run times have jumped, tasks first
// have to end well, and a new lane only doubles. Release looks back over a minute, waits longer
// after each change of direction, and then halves. Floors come from the configuration, from a
// timetable and from what [History] learned.
//
// Other policies have the same [Policy] type, so that they can be compared under the same load;
// [ByName] finds them. Every [Decision] carries a reason from a closed set and one sentence
// with the numbers.
//
// The package is pure: times are Unix nanoseconds passed in by the caller, and a policy's
// memory is a [State] that goes in and comes back. A State is never changed in place, so it may
// be kept, stored and passed again.
package scale
