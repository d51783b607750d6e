package chart

import (
	"fmt"
	"html"
	"strings"
)

// pen writes the elements of a figure, and remembers where it wrote words.
type pen struct {
	b     strings.Builder
	words []word
}

// word is a text and the room that it may need.
type word struct {
	text                     string
	left, right, top, bottom float64
}

func (w *word) over(o *word) bool {
	return w.left < o.right && o.left < w.right && w.top < o.bottom && o.top < w.bottom
}

// anchor says which part of a text is at its place.
type anchor string

const (
	start  anchor = ""
	middle anchor = "middle"
	end    anchor = "end"
)

// text writes words whose baseline is at y.
func (p *pen) text(x, y float64, at anchor, l letters, c Colour, text string) {
	if text == "" {
		return
	}
	room := l.width(text)
	w := word{text, x, x + room, y - 0.75*l.size, y + 0.2*l.size}
	anchored := ""
	switch at {
	case middle:
		w.left, w.right = x-room/2, x+room/2
	case end:
		w.left, w.right = x-room, x
	}
	if at != start {
		anchored = ` text-anchor="` + string(at) + `"`
	}
	p.words = append(p.words, w)
	fmt.Fprintf(&p.b, `<text class="%s" x="%s" y="%s"%s>%s</text>`+"\n", strings.TrimSpace(l.class+" "+string(c)), place(x), place(y),
		anchored, html.EscapeString(text))
}

// path writes a path with classes.
func (p *pen) path(class string, c Colour, d string) {
	fmt.Fprintf(&p.b, `<path class="%s %s" d="%s"/>`+"\n", class, c, d)
}

// rect fills an area.
func (p *pen) rect(c Colour, left, top, right, bottom float64) {
	fmt.Fprintf(&p.b, `<rect class="f %s" x="%s" y="%s" width="%s" height="%s"/>`+"\n", c, place(left), place(top), place(right-left),
		place(bottom-top))
}
