package chart

import "math"

// Layer is something drawn between the axes of a panel.
type Layer interface {
	draw(p *pen, r route)
}

// Line goes from point to point.
type Line struct {
	Colour Colour
	Points []XY
	Stairs bool // each value holds until the next
	Dashed bool
}

func (l Line) draw(p *pen, r route) {
	class, points := lineClass(l.Dashed), r.thin(l.Points)
	if l.Stairs {
		p.path(class, l.Colour, r.stairs(points))
		return
	}
	p.path(class, l.Colour, r.line(points))
}

func lineClass(dashed bool) string {
	if dashed {
		return "l dashed"
	}
	return "l"
}

// Area is filled from the lower end of the axis to values that hold until the next.
type Area struct {
	Colour Colour
	Points []XY
}

func (a Area) draw(p *pen, r route) {
	points := r.thin(r.rough(a.Points))
	p.path("f", a.Colour, r.closed(r.stairs(points), points[0].X))
}

// rough leaves out changes by less than half a pixel.
func (r route) rough(points []XY) []XY {
	out := points[:1:1]
	for i, p := range points {
		if i == len(points)-1 || math.Abs(r.y.at(p.Y)-r.y.at(out[len(out)-1].Y)) > 0.5 {
			out = append(out, p)
		}
	}
	return out
}

// Band marks a time from bottom to top.
type Band struct {
	Colour   Colour
	From, To float64
}

func (b Band) draw(p *pen, r route) {
	p.rect(b.Colour, r.x.at(b.From), r.y.end, r.x.at(b.To), r.y.start)
}

// Label is text at a place of the data: below it and to the right, unless told otherwise.
type Label struct {
	X, Y    float64
	Text    string
	Colour  Colour
	Left    bool
	Above   bool
	Centred bool // on the place itself
}

func (l Label) draw(p *pen, r route) {
	x, y := r.x.at(l.X), r.y.at(l.Y)
	if l.Centred {
		p.text(x, y+4, middle, strong, l.Colour, l.Text)
		return
	}
	at := start
	if x += 4; l.Left {
		x, at = x-8, end
	}
	if y += 14; l.Above {
		y -= 19
	}
	p.text(x, y, at, body, l.Colour, l.Text)
}
