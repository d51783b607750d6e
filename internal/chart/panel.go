package chart

// Panel is one pair of axes and what is drawn between them, the first layer lowest. Bands are behind the grid.
type Panel struct {
	Title  string
	Note   string // a figure to remember, beside the title of the values
	X, Y   Axis
	Layers []Layer
	Legend []Key // below the plot
}

// box is the place of a plot.
type box struct{ left, right, top, bottom float64 }

// draw draws a panel whose plot is at b.
func (p *Panel) draw(to *pen, in row, b box) {
	r := route{p.X.on(b.left, b.right), p.Y.on(b.bottom, b.top), 10}
	if in.named {
		to.text(b.left, b.top-lineHeight-12, start, subheading, Ink, p.Title)
	}
	to.text(b.left, b.top-10, start, body, Faint, p.Y.Title)
	to.text(b.right, b.top-10, end, body, Second, p.Note)
	for _, l := range p.Layers {
		if _, behind := l.(Band); behind {
			l.draw(to, r)
		}
	}
	p.axes(to, r, b)
	for _, l := range p.Layers {
		if _, behind := l.(Band); !behind {
			l.draw(to, r)
		}
	}
}

// axes draws the grid, and labels values at the right, where the newest is, and times below.
func (p *Panel) axes(to *pen, r route, b box) {
	across := "H" + place(b.right)
	for _, t := range p.Y.ticks() {
		y := r.y.at(t.at)
		if y < b.bottom {
			to.path("thin", "line", "M"+place(b.left)+" "+place(y)+across)
		}
		to.text(b.right+8, y+4, start, body, Faint, t.label)
	}
	to.path("thin", "line-2", "M"+place(b.left)+" "+place(b.bottom)+across)
	for _, t := range p.X.ticks() {
		x, at := r.x.at(t.at), middle
		if half := body.width(t.label) / 2; x-half < b.left {
			x, at = b.left, start
		}
		to.text(x, b.bottom+16, at, body, Faint, t.label)
	}
	to.text((b.left+b.right)/2, b.bottom+lineHeight+15, middle, body, Faint, p.X.Title)
}
