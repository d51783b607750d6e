// Package execute runs one task: it calls a Go handler safely, or turns an HTTP
// batch endpoint into a handler.
//
// [HTTP] returns a [weir.Handler] for a step that has an endpoint. A call is one POST with all
// items of the task, each with its idempotency key; the answer holds an outcome per item. The
// handler's error decides what happens next:
//
//   - nil: every item has its own outcome; one without is retried as "no_result"
//   - [*weir.RefusedError]: the endpoint is too busy; no attempt is counted
//   - [*EndpointError]: the endpoint is set up wrongly; no attempt is counted
//   - [*CallError]: the call failed or its answer was broken; all items are tried again
//
// After an error no outcome of the task is set: a broken answer changes no item. [Run] keeps a
// panic or a [runtime.Goexit] inside its task, and [Code] returns the short code of any task
// error, from a closed set.
//
// Calls are signed by Standard Webhooks; see [Signer] and [Verify].
package execute
