package chart

import (
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/internal/dashboard/format"
)

// Series is a chart of one measured value over time, beside what is allowed or needed.
type Series struct {
	ID     string // unique on its page
	Title  string // what is measured
	Desc   string // the finding, for people who do not see the chart
	Unit   string // of the values, as the head of their column
	Height int    // in pixels
	Clock  format.Clock

	From, To time.Time
	Points   []Point
	Marks    []Mark
	// Bound names the bound of the points: "Allowed" or "Needed". Empty: they have none.
	Bound string
	// Step is for how long the value of a point holds: it is of all that time. The line then has steps, so that nothing
	// is drawn between two values that was not measured. 0: the line goes from point to point.
	Step time.Duration
	// Dotted draws the bound as something that is needed, not as a limit.
	Dotted bool
}

// Point is the value at a time. A value that is not a number is unknown: the line has a gap there. A bound that is not
// above 0 is unknown, and not drawn.
type Point struct {
	At    time.Time
	Value float64
	Bound float64
}

// Mark is an event that explains a change.
type Mark struct {
	At   time.Time
	Text string
}

// HTML returns the chart.
func (s *Series) HTML() template.HTML {
	values := Above(s.Unit, s.most())
	r := route{scale{to: s.To.Sub(s.From).Seconds(), end: 100}, values.on(100, 0), 100}
	v := view{Series: s, Table: s.table(r), Last: s.lastBound(r), Limit: s.bound(r)}
	v.Area, v.Line = s.line(r)
	for _, t := range slices.Backward(values.ticks()) {
		v.Ticks = append(v.Ticks, level{Y: r.atY(t.at), Label: t.label})
	}
	for _, at := range roundTimes(s.From, s.To, s.Clock.Zone) {
		v.Times = append(v.Times, moment{X: r.atX(s.since(at)), Text: s.timeOf(at), Anchor: s.anchor(at)})
	}
	for _, m := range s.Marks {
		v.Events = append(v.Events, event{X: r.atX(s.since(m.At)), Text: m.Text})
	}
	var out strings.Builder
	if err := onPage.Execute(&out, v); err != nil {
		panic("chart: " + err.Error()) // the template is ours, and a builder takes everything
	}
	return template.HTML(out.String()) //nolint:gosec // made by html/template
}

// anchor says on which side of its place a time is written, so that the first and the last one stay within the chart.
func (s *Series) anchor(at time.Time) string {
	switch edge := s.To.Sub(s.From) / 20; {
	case at.Sub(s.From) < edge:
		return "start"
	case s.To.Sub(at) < edge:
		return "end"
	}
	return "middle"
}

// timeOf writes a time of the axis: with seconds where minutes would repeat.
func (s *Series) timeOf(at time.Time) string {
	if s.To.Sub(s.From) < 5*time.Minute {
		return s.Clock.Seconds(at)
	}
	return s.Clock.Time(at)
}

type view struct {
	*Series
	Area, Line, Limit string
	Last              *label
	Ticks             []level
	Times             []moment
	Events            []event
	Table             []entry
}

type (
	level struct{ Y, Label string }
	event struct{ X, Text string }
	// moment is a time on the axis.
	moment struct{ X, Text, Anchor string }
	label  struct{ Y, Text string }
	entry  struct{ X, Time, Value, Bound string }
)

// most returns the largest value that the chart shows.
func (s *Series) most() (most float64) {
	for _, p := range s.Points {
		if most = max(most, p.Bound); p.known() {
			most = max(most, p.Value)
		}
	}
	return most
}

// since returns the place of a time on the axis of times, in seconds.
func (s *Series) since(at time.Time) float64 { return at.Sub(s.From).Seconds() }

func (p *Point) known() bool { return !math.IsNaN(p.Value) }

// runs calls f with each run of points whose values are known.
func (s *Series) runs(f func(run []Point)) {
	from := 0
	for i := range s.Points {
		if !s.Points[i].known() {
			if i > from {
				f(s.Points[from:i])
			}
			from = i + 1
		}
	}
	if from < len(s.Points) {
		f(s.Points[from:])
	}
}

// line returns the paths of the values and of the area below them.
func (s *Series) line(r route) (area, line string) {
	s.runs(func(run []Point) {
		points := make([]XY, len(run))
		for i, p := range run {
			points[i] = XY{s.since(p.At), p.Value}
		}
		path := ""
		switch {
		case s.Step > 0:
			end := run[len(run)-1]
			to := end.At.Add(s.Step)
			if to.After(s.To) {
				to = s.To
			}
			path = r.stairs(append(points, XY{s.since(to), end.Value}))
		default:
			path = r.line(points)
		}
		if len(run) == 1 && s.Step == 0 { // a dot
			path += "h0.3"
		}
		line += path
		area += r.closed(path, points[0].X)
	})
	return area, line
}

// bound is a line with steps: a limit holds until it is changed.
func (s *Series) bound(r route) (path string) {
	var known []XY
	for _, p := range s.Points {
		if p.Bound > 0 {
			known = append(known, XY{s.since(p.At), p.Bound})
			continue
		}
		path += r.stairs(known)
		known = nil
	}
	return path + r.stairs(known)
}

// lastBound labels the newest bound, at the right edge.
func (s *Series) lastBound(r route) *label {
	if len(s.Points) == 0 || s.Points[len(s.Points)-1].Bound <= 0 {
		return nil
	}
	b := s.Points[len(s.Points)-1].Bound
	return &label{Y: r.atY(b), Text: strings.ToLower(s.Bound) + " " + Number(math.Round(b))}
}

// mostRows is how many rows the table of a chart has.
const mostRows = 61

// table returns the newest point, and others evenly before it.
func (s *Series) table(r route) (rows []entry) {
	every := max((len(s.Points)+mostRows-2)/(mostRows-1), 1)
	at := s.timeOf
	if len(s.Points) > every && s.Points[every].At.Sub(s.Points[0].At) < time.Minute {
		at = s.Clock.Seconds // minutes would repeat
	}
	for i, p := range s.Points {
		if (len(s.Points)-1-i)%every != 0 {
			continue
		}
		line := entry{X: r.atX(s.since(p.At)), Time: at(p.At), Value: "Unknown", Bound: "–"}
		if p.known() {
			line.Value = Number(math.Round(p.Value*10) / 10)
		}
		if p.Bound > 0 {
			line.Bound = Number(math.Round(p.Bound*10) / 10)
		}
		rows = append(rows, line)
	}
	return rows
}

var onPage = template.Must(template.New("chart").Parse(`<div class="chart">
<svg id="{{.ID}}" height="{{.Height}}" role="img" aria-labelledby="{{.ID}}-t {{.ID}}-d"><title id="{{.ID}}-t">{{.Title}}</title><desc id="{{.ID}}-d">{{.Desc}}</desc>
<svg viewBox="0 0 100 100" preserveAspectRatio="none" width="100%" height="{{.Height}}">
{{- range .Ticks}}<path class="{{if eq .Y "100"}}base{{else}}grid{{end}}" d="M0 {{.Y}}H100"/>{{end}}
{{- if .Area}}<path class="a" d="{{.Area}}"/><path class="l" d="{{.Line}}"/>{{end}}
{{- if .Limit}}<path class="{{if .Dotted}}need{{else}}limit{{end}}" d="{{.Limit}}"/>{{end}}
{{- range .Events}}<path class="mark" d="M{{.X}} 0V100"/>{{end}}</svg>
{{- with .Last}}<text x="100%" y="{{.Y}}%" dy="-6" text-anchor="end">{{.Text}}</text>{{end}}
{{- range .Events}}<text class="bad" x="{{.X}}%" y="100%" dx="6" dy="-7">{{.Text}}</text>{{end}}
</svg>
<div class="chart-y" aria-hidden="true">{{range .Ticks}}<span>{{.Label}}</span>{{end}}</div>
<svg class="chart-x" height="12" aria-hidden="true">{{range .Times}}<text x="{{.X}}%" y="10" text-anchor="{{.Anchor}}">{{.Text}}</text>{{end}}</svg>
</div>
<details class="tv"><summary>Show as table</summary><table><caption class="vh">{{.Title}}</caption><thead><tr><th scope="col">Time</th><th scope="col" class="num">{{.Unit}}</th>
{{- if .Bound}}<th scope="col" class="num">{{.Bound}}</th>{{end}}</tr></thead><tbody>
{{- $bound := .Bound}}{{range .Table}}<tr data-x="{{.X}}"><th scope="row">{{.Time}}</th><td class="num">{{.Value}}</td>{{if $bound}}<td class="num">{{.Bound}}</td>{{end}}</tr>{{end}}</tbody></table></details>`))
