package chart

import (
	"math"
	"strconv"
	"strings"

	"github.com/weirhq/weir/internal/dashboard/format"
)

// Axis is a range of values with its title. Ticks are Every apart, or at powers of ten; with Names they are at 0, 1, 2
// and so on.
type Axis struct {
	Title    string // what is counted, with its unit
	From, To float64
	Every    float64
	Log      bool
	Names    []string
}

// near is how far a sum may be off: fractions have no exact binary form.
const near = 1e-9

// Above returns an axis that begins at 0 and ends with a tick above a value. It has two to four ticks.
func Above(title string, most float64) Axis {
	return ending(title, most, func(steps float64) float64 { return math.Floor(steps) + 1 })
}

// Around returns an axis that begins at 0 and ends with a tick at a value or above it. It has two to four ticks.
func Around(title string, most float64) Axis { return ending(title, most, math.Ceil) }

func ending(title string, most float64, whole func(steps float64) float64) Axis {
	if most <= 0 {
		most = 1
	}
	ten := math.Pow(10, math.Floor(math.Log10(most)))
	for _, step := range []float64{0.2, 0.25, 0.5, 1, 2, 2.5, 5} {
		if n := whole(most / (step * ten)); n <= 3 {
			return Axis{Title: title, To: n * step * ten, Every: step * ten}
		}
	}
	return Axis{Title: title, To: 10 * ten, Every: 10 * ten}
}

// UpTo returns an axis that begins at 0 and ends at a value. It has three to six ticks.
func UpTo(title string, most float64) Axis {
	ten := math.Pow(10, math.Floor(math.Log10(most)))
	for _, step := range []float64{0.1, 0.2, 0.5, 1} {
		if most/(ten*step) < 6-near {
			return Axis{Title: title, To: most, Every: ten * step}
		}
	}
	return Axis{Title: title, To: most, Every: 2 * ten}
}

// tick is a mark of an axis.
type tick struct {
	at    float64
	label string
}

// ticks returns the ticks of an axis, the lowest first.
func (a *Axis) ticks() (list []tick) {
	switch {
	case a.Names != nil:
		for i, name := range a.Names {
			list = append(list, tick{float64(i), name})
		}
	case a.Log:
		for v := math.Pow(10, math.Ceil(math.Log10(a.From)-near)); v <= a.To*(1+near); v *= 10 {
			list = append(list, tick{v, Number(v)})
		}
	default:
		for i := math.Ceil(a.From/a.Every - near); i*a.Every <= a.To*(1+near); i++ {
			list = append(list, tick{i * a.Every, Number(i * a.Every)})
		}
	}
	return list
}

// Number writes a value as an axis does, with three digits that count: 64, 1.5, 10,000. Whole numbers keep all of theirs.
func Number(v float64) string {
	if v == math.Trunc(v) || math.Abs(v) >= 100 {
		return format.Count(int64(math.Round(v)))
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(v, 'f', digits, 64), "0"), ".")
}

// scale maps the values of an axis to places from start to end.
type scale struct {
	from, to, start, end float64
	log                  bool
}

// on returns the scale of an axis.
func (a *Axis) on(start, end float64) scale { return scale{a.From, a.To, start, end, a.Log} }

// at returns the place of a value. A value beyond an end of the axis is at that end.
func (s scale) at(v float64) float64 {
	from, to := s.from, s.to
	if s.log {
		from, to, v = math.Log(from), math.Log(to), math.Log(v)
	}
	if to <= from {
		return s.start
	}
	return s.start + (s.end-s.start)*min(max((v-from)/(to-from), 0), 1)
}
