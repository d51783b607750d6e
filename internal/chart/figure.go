package chart

import (
	"fmt"
	"html"
	"strings"
)

// The measures of a figure, in pixels.
const (
	figureWidth = 840.0
	margin      = 16.0
	gapX, gapY  = 28.0, 20.0
	lineHeight  = 18.0 // of words of 12 pixels
)

// Figure is a picture that stands alone: panels in rows, below a title that says what is to be seen.
type Figure struct {
	Title   string
	Note    string // the setting, in one or two sentences
	Legend  []Key
	Columns int
	Height  float64 // of each plot
	Panels  []Panel
}

// Key says what a line or an area is.
type Key struct {
	Colour Colour
	Area   bool // a line, if it is not
	Dashed bool
	Text   string
}

// SVG returns the picture as a file. The same figure is the same file.
func (f *Figure) SVG() []byte {
	p, height := f.drawn()
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %[1]s %[2]s" role="img" aria-labelledby="t d">
<title id="t">%s</title>
<desc id="d">%s</desc>
<style>
%s</style>
%s</svg>
`, place(figureWidth), place(height), html.EscapeString(f.Title), html.EscapeString(f.Note), style(), p.b.String())
	return []byte(out.String())
}

// Crowded lists the words of the picture that may run into others or out of it, where letters are wide.
func (f *Figure) Crowded() (list []string) {
	p, height := f.drawn()
	for i := range p.words {
		w := &p.words[i]
		if w.left < margin-4 || w.right > figureWidth-margin+4 || w.bottom > height {
			list = append(list, fmt.Sprintf("%q reaches from %.0f to %.0f of %.0f", w.text, w.left, w.right, figureWidth))
		}
		for k := range p.words[:i] {
			if w.over(&p.words[k]) {
				list = append(list, fmt.Sprintf("%q runs into %q", p.words[k].text, w.text))
			}
		}
	}
	return list
}

// drawn draws everything, and returns how high the picture is.
func (f *Figure) drawn() (*pen, float64) {
	p := &pen{}
	height := f.head(&pen{}, margin)
	rows := f.rows()
	for _, row := range rows {
		height += row.height(f.Height) + gapY
	}
	height += margin - gapY
	p.rect(Ground, 0, 0, figureWidth, height)
	top := f.head(p, margin)
	gutters := f.gutters()
	width := f.width()
	for _, row := range rows {
		for k := range row.panels {
			left := margin + float64(k)*(width+gapX)
			row.panels[k].draw(p, row, box{left, left + width - gutters[k], top + row.head, top + row.head + f.Height})
			row.panels[k].legend(p, left, top+row.head+f.Height+row.axis+14, width)
		}
		top += row.height(f.Height) + gapY
	}
	return p, height
}

// head writes title, note and legend, and returns where the panels begin.
func (f *Figure) head(p *pen, y float64) float64 {
	const room = figureWidth - 2*margin
	for _, line := range heading.lines(f.Title, room) {
		y += 20
		p.text(margin, y-4, start, heading, Ink, line)
	}
	for _, line := range body.lines(f.Note, room) {
		y += lineHeight
		p.text(margin, y-3, start, body, Second, line)
	}
	if len(f.Legend) == 0 {
		return y + 12
	}
	y += lineHeight + 6
	x := margin
	for i := range f.Legend {
		f.Legend[i].draw(p, x, y-3)
		x += f.Legend[i].width()
	}
	return y + 12
}

// row is a row of panels, with the room above and below their plots.
type row struct {
	panels     []Panel
	head, foot float64
	axis       float64 // of the foot: below it are legends
	named      bool    // a panel has a title
}

// width returns the room of a panel.
func (f *Figure) width() float64 {
	return (figureWidth - 2*margin - gapX*float64(f.Columns-1)) / float64(f.Columns)
}

func (r *row) height(plot float64) float64 { return r.head + plot + r.foot }

func (f *Figure) rows() (rows []row) {
	for from := 0; from < len(f.Panels); from += f.Columns {
		r := row{panels: f.Panels[from:min(from+f.Columns, len(f.Panels))], head: lineHeight + 6, foot: lineHeight}
		for i := range r.panels {
			r.named = r.named || r.panels[i].Title != ""
			if r.panels[i].X.Title != "" {
				r.foot = 2 * lineHeight
			}
		}
		r.axis = r.foot
		for i := range r.panels {
			r.foot = max(r.foot, r.axis+lineHeight*float64(len(keyLines(r.panels[i].Legend, f.width()))))
		}
		if r.named {
			r.head += 20
		}
		rows = append(rows, r)
	}
	return rows
}

// gutters returns the room at the right of the plots of each column, for the labels of their values.
func (f *Figure) gutters() []float64 {
	out := make([]float64, f.Columns)
	for i := range f.Panels {
		for _, t := range f.Panels[i].Y.ticks() {
			out[i%f.Columns] = max(out[i%f.Columns], body.width(t.label)+8)
		}
	}
	return out
}
