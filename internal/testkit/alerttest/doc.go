// Package alerttest holds the rules of docs/alerts.yaml against a real weir and a
// real Prometheus: each fires when its condition is created, and not before.
// That they do so after the times that they name, promtool shows in package docstest.
package alerttest
