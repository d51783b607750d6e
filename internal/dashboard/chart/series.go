package chart

import (
	"html/template"
	"math"
	"strconv"
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
	top, ticks := axis(s.most())
	v := view{
		Series: s, Top: top, Area: s.area(top), Line: s.line(top), Limit: s.bound(top), Table: s.table(),
		Last: s.lastBound(top),
	}
	for _, y := range ticks {
		v.Ticks = append(v.Ticks, tick{Y: place(y, top), Label: short(y)})
	}
	for i := range 5 {
		at := s.From.Add(s.To.Sub(s.From) * time.Duration(i) / 4)
		v.Times = append(v.Times, s.timeOf(at))
	}
	for _, m := range s.Marks {
		v.Events = append(v.Events, event{X: s.x(m.At), Text: m.Text})
	}
	var out strings.Builder
	if err := figure.Execute(&out, v); err != nil {
		panic("chart: " + err.Error()) // the template is ours, and a builder takes everything
	}
	return template.HTML(out.String()) //nolint:gosec // made by html/template
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
	Top               float64
	Area, Line, Limit string
	Last              *label
	Ticks             []tick
	Times             []string
	Events            []event
	Table             []row
}

type (
	tick  struct{ Y, Label string }
	event struct{ X, Text string }
	label struct{ Y, Text string }
	row   struct{ X, Time, Value, Bound string }
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

// axis returns the end of an axis from 0 that is above a value, and two to four ticks on it.
func axis(most float64) (top float64, ticks []float64) {
	if most <= 0 {
		most = 1
	}
	ten := math.Pow(10, math.Floor(math.Log10(most)))
	for _, step := range []float64{0.2, 0.25, 0.5, 1, 2, 2.5, 5, 10} {
		n := math.Floor(most/(step*ten)) + 1
		if n <= 3 {
			for i := n; i >= 0; i-- {
				ticks = append(ticks, i*step*ten)
			}
			return n * step * ten, ticks
		}
	}
	return 10 * ten, []float64{10 * ten, 0}
}

// short writes a label of the axis.
func short(v float64) string {
	if v == math.Trunc(v) {
		return format.Count(int64(v))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

func (s *Series) x(at time.Time) string {
	span := s.To.Sub(s.From)
	if span <= 0 {
		return "0"
	}
	return percent(float64(at.Sub(s.From)) / float64(span))
}

// place returns the height of a value from the top, in per cent.
func place(v, top float64) string { return percent(1 - v/top) }

func percent(part float64) string {
	return strconv.FormatFloat(math.Round(min(max(part, 0), 1)*1e4)/100, 'f', -1, 64)
}

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

func (s *Series) path(run []Point, top float64) string {
	var b strings.Builder
	for i, p := range run {
		b.WriteByte("ML"[min(i, 1)])
		b.WriteString(s.x(p.At) + " " + place(p.Value, top))
	}
	if len(run) == 1 { // a dot
		b.WriteString("h0.3")
	}
	return b.String()
}

func (s *Series) line(top float64) (all string) {
	s.runs(func(run []Point) { all += s.path(run, top) })
	return all
}

func (s *Series) area(top float64) (all string) {
	s.runs(func(run []Point) { all += s.path(run, top) + "V100H" + s.x(run[0].At) + "Z" })
	return all
}

// bound is a line with steps: a limit holds until it is changed.
func (s *Series) bound(top float64) string {
	var b strings.Builder
	drawn := false
	for _, p := range s.Points {
		x, y := s.x(p.At), place(p.Bound, top)
		switch {
		case p.Bound <= 0:
			drawn = false
		case drawn:
			b.WriteString("H" + x + "V" + y)
		default:
			b.WriteString("M" + x + " " + y)
			drawn = true
		}
	}
	return b.String()
}

// lastBound labels the newest bound, at the right edge.
func (s *Series) lastBound(top float64) *label {
	if len(s.Points) == 0 || s.Points[len(s.Points)-1].Bound <= 0 {
		return nil
	}
	b := s.Points[len(s.Points)-1].Bound
	return &label{Y: place(b, top), Text: strings.ToLower(s.Bound) + " " + short(math.Round(b))}
}

// mostRows is how many rows the table of a chart has.
const mostRows = 61

// table returns the newest point, and others evenly before it.
func (s *Series) table() (rows []row) {
	every := max((len(s.Points)+mostRows-2)/(mostRows-1), 1)
	for i, p := range s.Points {
		if (len(s.Points)-1-i)%every != 0 {
			continue
		}
		r := row{X: s.x(p.At), Time: s.timeOf(p.At), Value: "Unknown", Bound: "–"}
		if p.known() {
			r.Value = short(math.Round(p.Value*10) / 10)
		}
		if p.Bound > 0 {
			r.Bound = short(math.Round(p.Bound*10) / 10)
		}
		rows = append(rows, r)
	}
	return rows
}

var figure = template.Must(template.New("chart").Parse(`<div class="chart">
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
<div class="chart-x" aria-hidden="true">{{range .Times}}<span>{{.}}</span>{{end}}</div>
</div>
<details class="tv"><summary>Show as table</summary><table><caption class="vh">{{.Title}}</caption><thead><tr><th scope="col">Time</th><th scope="col" class="num">{{.Unit}}</th>
{{- if .Bound}}<th scope="col" class="num">{{.Bound}}</th>{{end}}</tr></thead><tbody>
{{- $bound := .Bound}}{{range .Table}}<tr data-x="{{.X}}"><th scope="row">{{.Time}}</th><td class="num">{{.Value}}</td>{{if $bound}}<td class="num">{{.Bound}}</td>{{end}}</tr>{{end}}</tbody></table></details>`))
