package main

import (
	"image/color"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// typeface is what the library brings along, which has the widths of Arial.
const typeface = "Liberation Sans"

// hue is a colour that people with colour-blindness tell from the others of the
// list: the set of Okabe and Ito, of which yellow is too pale on white.
type hue int

const (
	ink hue = iota
	white
	blue
	vermilion
	green
	orange
	purple
	sky
	grey
	pale // areas behind lines
	rose // times of trouble
)

func (h hue) color() color.Color {
	return [...]color.RGBA{
		ink:       {0x22, 0x22, 0x22, 0xff},
		white:     {0xff, 0xff, 0xff, 0xff},
		blue:      {0x00, 0x72, 0xb2, 0xff},
		vermilion: {0xd5, 0x5e, 0x00, 0xff},
		green:     {0x00, 0x7a, 0x5a, 0xff},
		orange:    {0xe6, 0x9f, 0x00, 0xff},
		purple:    {0xa8, 0x50, 0x86, 0xff},
		sky:       {0x56, 0xb4, 0xe9, 0xff},
		grey:      {0x70, 0x70, 0x70, 0xff},
		pale:      {0xdd, 0xdd, 0xdd, 0xff},
		rose:      {0xfb, 0xe9, 0xde, 0xff},
	}[h]
}

// textOf returns a style of letters, hung at the left of its upper edge.
func textOf(size vg.Length, bold bool, h hue) draw.TextStyle {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = stdfont.WeightBold
	}
	return draw.TextStyle{Color: h.color(), Font: f, YAlign: draw.YTop, Handler: text.Plain{Fonts: font.DefaultCache}}
}

func titleText() draw.TextStyle { return textOf(12, true, ink) }
func noteText() draw.TextStyle  { return textOf(9, false, grey) }

// dress gives a plot the letters and lines of the house.
func dress(p *plot.Plot) {
	p.Title.TextStyle.Color, p.Title.TextStyle.Font = ink.color(), textOf(9.5, true, ink).Font
	p.Title.Padding = 3
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Color, a.Label.TextStyle.Font = grey.color(), textOf(8.5, false, grey).Font
		a.Tick.Label.Color, a.Tick.Label.Font = ink.color(), textOf(8.5, false, ink).Font
		a.Color, a.Tick.Color = grey.color(), grey.color()
		a.Width, a.Tick.Width, a.Tick.Length = 0.5, 0.5, 3
		a.Padding, a.Label.Padding = 0, 2
	}
}
