// Package client speaks to a weir server over its HTTP API.
//
// [New] makes a [Client]; its methods are the routes of the API, and what they
// take and return are the types of package api. [Client.Do] reaches what has no
// method. A Client may be used by any number of goroutines, keeps no state but
// its HTTP connections, and starts no goroutine of its own.
//
// What can be repeated safely is repeated by itself, a few times: a connection
// that breaks, a server that is busy or starting anew. Every POST carries an
// Idempotency-Key for this, the same one each time, so that nothing is done
// twice. The key is made up for each call, unless [WithKey] gives one.
//
// What a server refuses is an *[api.Problem], which a *[RefusedError] wraps
// together with how long to wait; a server that cannot be reached or does not
// speak weir's language is an *[UnreachableError].
package client
