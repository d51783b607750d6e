package main

import (
	"errors"
	"fmt"

	"github.com/weirhq/weir/internal/chart"
)

// figure is one picture, what it says, and its values as a table.
type figure struct {
	chart.Figure
	name   string // of its file, without ending
	claims []claim
	table  [][]string // the first row has the headings
}

// claim is a part of what the title says, and whether the data show it.
type claim struct {
	what string
	ok   bool
}

// holds returns an error that names every claim that the data do not show.
func (f *figure) holds() error {
	var errs []error
	for _, c := range f.claims {
		if !c.ok {
			errs = append(errs, fmt.Errorf("figure %s says %q, but the data do not show: %s", f.name, f.Title, c.what))
		}
	}
	return errors.Join(errs...)
}

// line goes from point to point; stairs hold each value until the next.
func line(c chart.Colour, points []chart.XY) chart.Line { return chart.Line{Colour: c, Points: points} }

func stairs(c chart.Colour, points []chart.XY) chart.Line {
	return chart.Line{Colour: c, Points: points, Stairs: true}
}

// series makes points of n values.
func series(n int, at func(i int) (x, y float64)) []chart.XY {
	points := make([]chart.XY, n)
	for i := range points {
		points[i].X, points[i].Y = at(i)
	}
	return points
}
