package chart

import (
	"math"
	"strconv"
	"strings"
)

// XY is a point of a line.
type XY struct{ X, Y float64 }

// route writes the path of points between two axes.
type route struct {
	x, y scale
	per  float64 // places are rounded to one of so many in a unit
}

// place writes a coordinate, rounded to a hundredth.
func place(v float64) string { return rounded(v, 100) }

func rounded(v, per float64) string {
	return strconv.FormatFloat(math.Round(v*per)/per+0, 'f', -1, 64) // minus nothing is nothing
}

func (r route) atX(v float64) string { return rounded(r.x.at(v), r.per) }
func (r route) atY(v float64) string { return rounded(r.y.at(v), r.per) }

// line goes from point to point.
func (r route) line(points []XY) string {
	var b strings.Builder
	for i, p := range points {
		b.WriteByte("ML"[min(i, 1)])
		b.WriteString(r.atX(p.X) + " " + r.atY(p.Y))
	}
	return b.String()
}

// stairs hold each value until the next.
func (r route) stairs(points []XY) string {
	var b strings.Builder
	for i, p := range points {
		x, y := r.atX(p.X), r.atY(p.Y)
		if i == 0 {
			b.WriteString("M" + x + " " + y)
			continue
		}
		b.WriteString("H" + x)
		if p.Y != points[i-1].Y {
			b.WriteString("V" + y)
		}
	}
	return b.String()
}

// closed returns the area between a path that begins at x and the lower end of the axis.
func (r route) closed(path string, x float64) string {
	return path + "V" + place(r.y.start) + "H" + r.atX(x) + "Z"
}

// thin leaves out points that no reader would see: values that last, and those between the lowest and the highest of
// the same half pixel.
func (r route) thin(points []XY) []XY {
	return lasting(r.extremes(points))
}

// lasting leaves out what lies between equal values.
func lasting(points []XY) (out []XY) {
	for i, p := range points {
		if 0 < i && i < len(points)-1 && points[i-1].Y == p.Y && points[i+1].Y == p.Y {
			continue
		}
		out = append(out, p)
	}
	return out
}

// extremes keeps of each half pixel the first, the lowest, the highest and the last point.
func (r route) extremes(points []XY) (out []XY) {
	for from := 0; from < len(points); {
		column := math.Floor(2 * r.x.at(points[from].X))
		low, high, to := from, from, from
		for ; to < len(points) && math.Floor(2*r.x.at(points[to].X)) == column; to++ {
			if points[to].Y < points[low].Y {
				low = to
			}
			if points[to].Y > points[high].Y {
				high = to
			}
		}
		kept := -1
		for _, i := range []int{from, min(low, high), max(low, high), to - 1} {
			if i > kept {
				out, kept = append(out, points[i]), i
			}
		}
		from = to
	}
	return out
}
