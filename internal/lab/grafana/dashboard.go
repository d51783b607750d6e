// Package grafana defines the dashboards of weir for Grafana: the fleet, a tenant, a resource, and one bulk action.
//
// A panel is a title, a sentence, a unit and queries. Command write makes the files of deploy/grafana from them, and
// tests ask a Prometheus every query.
package grafana

import (
	"regexp"
	"strings"
)

// Dashboard is a page of panels.
type Dashboard struct {
	Name      string // of its file, without ending
	Title     string
	About     string // Markdown, above the panels
	Variables []Variable
	Panels    []Panel
}

// Variable is something that the reader of a dashboard chooses, or types in.
type Variable struct {
	Name, Label string
	// Metric and Of say where its values come from: those of a label of a metric. Empty: it is typed in.
	Metric, Of string
	Default    string // of one that is typed in
}

// Panel shows values over time.
type Panel struct {
	Title   string
	About   string // what it shows, in a sentence or two
	Unit    Unit
	Queries []Query
}

// Query is an expression for Prometheus, and how its series are called, with labels as {{label}}.
type Query struct{ Expr, Legend string }

// Unit is the unit of values: as Grafana knows it, and in words.
type Unit struct{ Grafana, Words string }

// The units of the panels.
var (
	number   = Unit{"short", "number"}
	perItem  = Unit{"suffix: items/s", "items/s"}
	perTask  = Unit{"suffix: tasks/s", "tasks/s"}
	perCall  = Unit{"reqps", "requests/s"}
	share    = Unit{"percentunit", "share"}
	seconds  = Unit{"s", "seconds"}
	size     = Unit{"bytes", "bytes"}
	times    = Unit{"suffix: x", "times"}
	perHour  = Unit{"short", "in an hour"}
	waiting  = Unit{"short", "bulk actions"}
	tasks    = Unit{"short", "tasks"}
	itemUnit = Unit{"short", "items"}
)

// All lists the dashboards.
func All() []Dashboard { return []Dashboard{fleet(), tenant(), resource(), bulkAction()} }

// job is the variable with the name of the scrape job, which every dashboard has.
var job = Variable{Name: "job", Label: "Job", Metric: "weir_build_info", Of: "job"}

var (
	emptySelector = regexp.MustCompile(`\{\}`)
	fullSelector  = regexp.MustCompile(`\{(\w)`)
)

// q makes a query of the chosen job. Every metric in expr has braces, which may be empty.
func q(legend, expr string) Query {
	expr = fullSelector.ReplaceAllString(expr, `{job="$$job", $1`)
	return Query{Expr: emptySelector.ReplaceAllString(expr, `{job="$$job"}`), Legend: legend}
}

// With returns the expression with values for its variables. rate is that of $__rate_interval.
func (x *Query) With(rate string, values map[string]string) string {
	pairs := []string{"$__rate_interval", rate}
	for name, v := range values {
		pairs = append(pairs, "$"+name, v)
	}
	return strings.NewReplacer(pairs...).Replace(x.Expr)
}

// named fills in the labels of a series.
var placeholder = regexp.MustCompile(`\{\{(\w+)\}\}`)

// Called returns the name of a series with labels.
func (x *Query) Called(labels map[string]string) string {
	return placeholder.ReplaceAllStringFunc(x.Legend, func(found string) string { return labels[strings.Trim(found, "{}")] })
}
