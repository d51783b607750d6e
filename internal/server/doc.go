// Package server is weir's HTTP API: routes, errors, access, and the OpenAPI
// document that follows from them.
//
// A request passes, in this order: limits on its form, the route, access,
// idempotency (guard.go, idempotent.go), and then the endpoint, a function of
// typed input and output (route.go). What goes wrong anywhere becomes a problem
// in one place (problem.go). Endpoints do no work of their own: package service
// does it.
package server
