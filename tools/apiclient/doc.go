// Package apiclient holds a test: a client that another project's generator has
// made from the served OpenAPI document takes a bulk action from its creation to
// its report.
package apiclient
