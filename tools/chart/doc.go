// Package chart holds tests of the Helm chart in deploy/chart: Helm's own engine
// renders it, the objects are held against the schemas of Kubernetes and of the
// operators that read them, and the program is started as they say.
package chart
