// Package alerttest checks the rules of docs/alerts.yaml against a real weir and a real
// Prometheus: each fires when its condition is created, and not before. Package docstest checks
// their delays with promtool.
package alerttest
