// Package alerttest checks the rules of docs/alerts.yaml and the queries of the dashboards against a real weir and a
// real Prometheus: each rule fires when its condition is created, and not before; each query of a dashboard returns
// data. Package docstest checks the delays of the rules with promtool.
package alerttest
