package main

import (
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// panel is one pair of axes and what is drawn between them, the first layer lowest.
type panel struct {
	title  string
	x, y   axis
	layers []plot.Plotter
}

// axis is a range with its unit. Ticks are Every apart, or at powers of ten; with
// names they are at 0, 1, 2 and so on.
type axis struct {
	label    string
	from, to float64
	every    float64
	log      bool
	names    []string
}

// Ticks implements plot.Ticker.
func (a axis) Ticks(float64, float64) (ticks []plot.Tick) {
	switch {
	case a.names != nil:
		for i, name := range a.names {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: name})
		}
	case a.log:
		for v := math.Pow(10, math.Ceil(math.Log10(a.from)-1e-9)); v <= a.to*(1+1e-9); v *= 10 {
			ticks = append(ticks, plot.Tick{Value: v, Label: number(v)})
		}
	default:
		for i := math.Ceil(a.from/a.every - 1e-9); i*a.every <= a.to*(1+1e-9); i++ {
			ticks = append(ticks, plot.Tick{Value: i * a.every, Label: number(i * a.every)})
		}
	}
	return ticks
}

// number returns a figure for people: 64, 1.5, 10,000.
func number(v float64) string {
	s := strconv.FormatFloat(v+0, 'f', -1, 64) // minus nothing is nothing
	if v < 1000 {
		return s
	}
	return s[:len(s)-3] + "," + s[len(s)-3:]
}

// upTo returns an axis from 0 with three to six ticks of round figures.
func upTo(label string, most float64) axis {
	ten := math.Pow(10, math.Floor(math.Log10(most)))
	every := 0.0
	for _, part := range []float64{0.1, 0.2, 0.5, 1, 2} {
		if most/(ten*part) < 6 {
			every = ten * part
			break
		}
	}
	return axis{label: label, to: most, every: every}
}

func (p panel) plot() *plot.Plot {
	out := plot.New()
	dress(out)
	out.Title.Text = p.title
	out.X.Label.Text, out.Y.Label.Text = p.x.label, p.y.label
	out.X.Tick.Marker, out.Y.Tick.Marker = p.x, p.y
	if p.x.log {
		out.X.Scale = plot.LogScale{}
	}
	if p.y.log {
		out.Y.Scale = plot.LogScale{}
	}
	out.Add(p.layers...)
	out.X.Min, out.X.Max, out.Y.Min, out.Y.Max = p.x.from, p.x.to, p.y.from, p.y.to
	return out
}

// line goes from point to point; stairs hold each value until the next.
func line(h hue, points plotter.XYs) *plotter.Line {
	return &plotter.Line{XYs: thin(points), LineStyle: stroke(h, 1.4)}
}

func stairs(h hue, points plotter.XYs) *plotter.Line {
	return &plotter.Line{XYs: thin(points), LineStyle: stroke(h, 1.4), StepStyle: plotter.PostStep}
}

func dashed(l *plotter.Line) *plotter.Line {
	l.Dashes, l.Width = []vg.Length{4, 2.5}, 1.1
	return l
}

func stroke(h hue, w vg.Length) draw.LineStyle { return draw.LineStyle{Color: h.color(), Width: w} }

// thin leaves out points that say nothing new: values that last.
func thin(points plotter.XYs) (out plotter.XYs) {
	for i, p := range points {
		if 0 < i && i < len(points)-1 && points[i-1].Y == p.Y && points[i+1].Y == p.Y {
			continue
		}
		out = append(out, p)
	}
	return out
}

// series makes points of n values.
func series(n int, at func(i int) (x, y float64)) plotter.XYs {
	points := make(plotter.XYs, n)
	for i := range points {
		points[i].X, points[i].Y = at(i)
	}
	return points
}

// area fills what is below stairs.
type area struct {
	points plotter.XYs
	fill   color.Color
}

// below returns the area below values that last, as a background. Changes that no reader
// would see are left out.
func below(points plotter.XYs) area {
	_, _, _, most := plotter.XYRange(points)
	rough := plotter.XYs{points[0]}
	for i, p := range points {
		if i == len(points)-1 || math.Abs(p.Y-rough[len(rough)-1].Y) > most/100 {
			rough = append(rough, p)
		}
	}
	return area{rough, pale.color()}
}

// Plot implements plot.Plotter.
func (a area) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	outline := []vg.Point{{X: x(a.points[0].X), Y: y(0)}}
	for i, pt := range a.points {
		if i > 0 {
			outline = append(outline, vg.Point{X: x(pt.X), Y: y(a.points[i-1].Y)})
		}
		outline = append(outline, vg.Point{X: x(pt.X), Y: y(pt.Y)})
	}
	outline = append(outline, vg.Point{X: x(a.points[len(a.points)-1].X), Y: y(0)})
	c.FillPolygon(a.fill, c.ClipPolygonXY(outline))
}

// band marks a time from bottom to top.
type band struct {
	from, to float64
	fill     color.Color
}

// Plot implements plot.Plotter.
func (b band) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	from, to := x(b.from), x(b.to)
	c.FillPolygon(b.fill, []vg.Point{{X: from, Y: c.Min.Y}, {X: to, Y: c.Min.Y}, {X: to, Y: c.Max.Y}, {X: from, Y: c.Max.Y}})
}

// label is text at a place of the data: below it and to the right, unless told otherwise.
type label struct {
	x, y   float64
	text   string
	hue    hue
	left   bool
	above  bool
	center bool // on the place itself
}

// Plot implements plot.Plotter.
func (l label) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := textOf(8.5, false, l.hue)
	at := vg.Point{X: x(l.x) + 3, Y: y(l.y) - 2}
	if l.left {
		style.XAlign, at.X = draw.XRight, at.X-6
	}
	if l.above {
		style.YAlign, at.Y = draw.YBottom, at.Y+4
	}
	if l.center {
		style.XAlign, style.YAlign, at = draw.XCenter, draw.YCenter, vg.Point{X: x(l.x), Y: y(l.y)}
	}
	c.FillText(style, at, l.text)
}
