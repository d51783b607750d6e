package chart

import "strings"

// wide is how much wider letters may be where a reader has none of the fonts that a figure asks for.
const wide = 1.15

// widths has the widths of the letters from space to tilde in Arial, in thousandths of their size.
var widths = [...]float64{
	278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, // space to slash
	556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, // 0 to ?
	1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, // @ to O
	667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, // P to _
	333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, // ` to o
	556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584, // p to ~
}

// letters is a size of text.
type letters struct {
	class string
	size  float64
	bold  bool
}

var (
	heading    = letters{"h1", 16, true}
	subheading = letters{"h2", 13, true}
	body       = letters{"", 12, false}
	strong     = letters{"on", 12, true}
)

// width returns the room that a text may need, in pixels.
func (l letters) width(text string) float64 {
	sum := 0.0
	for _, r := range text {
		if r < ' ' || r > '~' {
			sum += 600
			continue
		}
		sum += widths[r-' ']
	}
	if l.bold {
		sum *= 1.12
	}
	return sum / 1000 * l.size * wide
}

// lines breaks a text into lines that fit into a room.
func (l letters) lines(text string, room float64) (out []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case l.width(line+" "+word) <= room:
			line += " " + word
		default:
			out, line = append(out, line), word
		}
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}
