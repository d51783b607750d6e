// Package outside uses the library as another module does: every exported function and
// method of packages engine, operate, report and server, on a store in memory. It is in a module of its own,
// which a test of internal/testkit/archtest runs.
package outside
