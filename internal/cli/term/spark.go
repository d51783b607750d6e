package term

import (
	"math"
	"strings"
)

// Spark draws values as a line of blocks, the largest of those that share a character; top is the
// value of a full block. A value that is not a number is unknown.
func Spark(values []float64, wide int, top float64) string {
	blocks := []rune(" ▁▂▃▄▅▆▇█")
	wide = min(wide, len(values))
	var b strings.Builder
	for i := range wide {
		v := math.NaN()
		for _, x := range values[i*len(values)/wide : (i+1)*len(values)/wide] {
			if math.IsNaN(v) || x > v {
				v = x
			}
		}
		switch {
		case math.IsNaN(v):
			b.WriteRune('·')
		case v > 0 && top > 0:
			b.WriteRune(blocks[min(1+int(v/top*float64(len(blocks)-2)+0.5), len(blocks)-1)])
		default:
			b.WriteRune(blocks[0])
		}
	}
	return b.String()
}
