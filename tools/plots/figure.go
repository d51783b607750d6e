package main

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	width  = 600 * vg.Length(1) // points: 800 px in a page
	margin = 10 * vg.Length(1)
	header = 44 * vg.Length(1) // title and note
	dpi    = 144               // of the PNG: 1200 px wide
)

// figure is one picture: panels in rows, below a title that says what is to be seen.
type figure struct {
	name    string // of its files, without ending
	title   string
	note    string // the setting, in a smaller line
	columns int
	row     vg.Length // height of a row of panels
	panels  []panel
	claims  []claim
}

// claim is a part of what the title says, and whether the data show it.
type claim struct {
	what string
	ok   bool
}

// holds returns an error that names every claim that the data do not show.
func (f figure) holds() error {
	var errs []error
	for _, c := range f.claims {
		if !c.ok {
			errs = append(errs, fmt.Errorf("figure %s says %q, but the data do not show: %s", f.name, f.title, c.what))
		}
	}
	return errors.Join(errs...)
}

func (f figure) rows() int { return (len(f.panels) + f.columns - 1) / f.columns }

func (f figure) height() vg.Length { return header + margin + vg.Length(f.rows())*f.row }

// draw returns the files.
func (f figure) draw() (svg, pix []byte, err error) {
	s := vgsvg.New(width, f.height())
	f.paint(draw.New(s))
	var text bytes.Buffer
	if _, err := s.WriteTo(&text); err != nil {
		return nil, nil, err
	}
	i := vgimg.NewWith(vgimg.UseWH(width, f.height()), vgimg.UseDPI(dpi))
	f.paint(draw.New(i))
	var packed bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&packed, flat(i.Image())); err != nil {
		return nil, nil, err
	}
	return f.readable(text.Bytes()), packed.Bytes(), nil
}

// flat makes the picture small: few colours are left of the many between a letter
// and white. A picture with more than a file can list stays as it is.
func flat(i image.Image) image.Image {
	b := i.Bounds()
	out := image.NewPaletted(b, nil)
	numbers := map[color.RGBA]uint8{}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			r, g, bl, _ := i.At(x, y).RGBA()
			c := color.RGBA{tint(r), tint(g), tint(bl), 0xff}
			n, known := numbers[c]
			if !known {
				if len(out.Palette) == 256 {
					return i
				}
				n = uint8(len(out.Palette))
				numbers[c], out.Palette = n, append(out.Palette, c)
			}
			out.SetColorIndex(x, y, n)
		}
	}
	return out
}

// tint rounds a part of a colour, of 16 bits, to one of 16 steps.
func tint(v uint32) uint8 { return uint8((v + 0x888) / 0x1111 * 0x11) }

// readable names fonts of the same widths for readers that do not have the one that
// text was measured with, and puts the title where screen readers look for it.
func (f figure) readable(svg []byte) []byte {
	const font = "font-family:" + typeface
	svg = bytes.ReplaceAll(svg, []byte(font), []byte(font+",Arial,Helvetica,sans-serif"))
	head, body, _ := bytes.Cut(svg, []byte("<g "))
	return bytes.Join([][]byte{head, []byte("<title>" + html.EscapeString(f.title) + "</title>\n<g "), body}, nil)
}

func (f figure) paint(c draw.Canvas) {
	c.FillPolygon(color.White, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
	top := c.Max.Y - margin
	c.FillText(titleText(), vg.Point{X: c.Min.X + margin, Y: top}, f.title)
	c.FillText(noteText(), vg.Point{X: c.Min.X + margin, Y: top - 17}, f.note)
	tiles := draw.Tiles{
		Rows: f.rows(), Cols: f.columns, PadX: 12, PadY: 8,
		PadLeft: margin, PadRight: margin, PadBottom: margin, PadTop: header,
	}
	grid := make([][]*plot.Plot, f.rows())
	for i, p := range f.panels {
		grid[i/f.columns] = append(grid[i/f.columns], p.plot())
	}
	for last := len(grid) - 1; len(grid[last]) < f.columns; {
		grid[last] = append(grid[last], nil)
	}
	for r, canvases := range plot.Align(grid, tiles, c) {
		for k, canvas := range canvases {
			if grid[r][k] != nil {
				grid[r][k].Draw(canvas)
			}
		}
	}
}
