// Ansisvg draws what a terminal showed as an SVG picture. It reads the screen
// with its colours from stdin, as tmux capture-pane -p -e prints it, and writes
// the picture to stdout. Screens separated by form feeds become a short film,
// one second each, of which the last stays three times as long.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"html"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"
)

func main() {
	raw, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = draw(os.Stdout, string(raw))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ansisvg:", err)
		os.Exit(1)
	}
}

// Size of a character, and the room around all of them.
const (
	charWidth  = 8.4
	lineHeight = 19.0
	margin     = 16.0
)

var colours = map[int]string{31: "#ff7b72", 32: "#3fb950", 33: "#d29922", 36: "#39c5cf"}

// style is the style of a run of text.
type style struct {
	fill      string
	bold, dim bool
}

// run is text of one style.
type run struct {
	text string
	style
}

func draw(w io.Writer, input string) error {
	var frames [][][]run
	wide, high := 0, 0
	for _, screen := range strings.Split(strings.TrimRight(input, "\f\n"), "\f") {
		lines := parse(strings.Trim(screen, "\n"))
		for _, l := range lines {
			wide = max(wide, lineWidth(l))
		}
		high = max(high, len(lines))
		frames = append(frames, lines)
	}
	out := bufio.NewWriter(w)
	width, height := float64(wide)*charWidth+2*margin, float64(high)*lineHeight+2*margin
	fmt.Fprintf(out,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="14">`+"\n",
		width, height, width)
	out.WriteString(film(len(frames)))
	fmt.Fprintf(out, `<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>`+"\n")
	for i, lines := range frames {
		fmt.Fprintf(out, `<g class="f" id="f%d">`+"\n", i)
		for no, l := range lines {
			drawLine(out, l, margin+float64(no)*lineHeight)
		}
		out.WriteString("</g>\n")
	}
	out.WriteString("</svg>\n")
	return out.Flush()
}

// film is the style sheet that shows one frame after the other. Where style
// sheets do not move, the last one is seen.
func film(frames int) string {
	if frames == 1 {
		return ""
	}
	var b bytes.Buffer
	seconds := frames + 2 // the last one stays longer
	fmt.Fprintf(&b, "<style>.f{visibility:hidden}#f%d{visibility:visible}\n", frames-1)
	for i := range frames {
		from, to := 100*float64(i)/float64(seconds), 100*float64(i+1)/float64(seconds)
		if i == frames-1 {
			to = 100
		}
		fmt.Fprintf(&b, "@keyframes k%d{0%%{visibility:hidden}%.2f%%{visibility:visible}%.2f%%{visibility:hidden}}", i, from, to)
		fmt.Fprintf(&b, "#f%d{animation:k%d %ds step-end infinite}\n", i, i, seconds)
	}
	b.WriteString("</style>\n")
	return b.String()
}

func lineWidth(runs []run) (n int) {
	for _, r := range runs {
		n += utf8.RuneCountInString(r.text)
	}
	return n
}

func drawLine(w io.Writer, runs []run, y float64) {
	col := 0
	for _, r := range runs {
		n := utf8.RuneCountInString(r.text)
		x, width := margin+float64(col)*charWidth, float64(n)*charWidth
		col += n
		switch bar := strings.Trim(r.text, "█░"); {
		case strings.TrimSpace(r.text) == "":
		case bar == "":
			opacity := 1.0
			if strings.HasPrefix(r.text, "░") {
				opacity = 0.25
			}
			fmt.Fprintf(w, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" opacity="%.2f"/>`+"\n", x, y+3, width,
				lineHeight-6, r.fill, opacity)
		default:
			fmt.Fprintf(w, `<text x="%.1f" y="%.1f" textLength="%.1f" xml:space="preserve" fill="%s"%s>%s</text>`+"\n",
				x, y+14, width, r.fill, r.attributes(), html.EscapeString(r.text))
		}
	}
}

func (s *style) attributes() string {
	out := ""
	if s.bold {
		out += ` font-weight="bold"`
	}
	if s.dim {
		out += ` opacity="0.6"`
	}
	return out
}

// parse cuts a screen into lines and runs. Styles last over line ends.
func parse(screen string) (lines [][]run) {
	now := style{fill: "#e6edf3"}
	for line := range strings.SplitSeq(screen, "\n") {
		var runs []run
		for line != "" {
			text, rest, found := strings.Cut(line, "\x1b[")
			if text != "" {
				runs = append(runs, run{strings.TrimRight(text, "\r"), now})
			}
			if !found {
				break
			}
			codes, after, _ := strings.Cut(rest, "m")
			now.apply(codes)
			line = after
		}
		lines = append(lines, runs)
	}
	return lines
}

// apply takes the numbers of a colour sequence.
func (s *style) apply(codes string) {
	for c := range strings.SplitSeq(codes, ";") {
		switch n, _ := strconv.Atoi(c); n {
		case 0:
			*s = style{fill: "#e6edf3"}
		case 1:
			s.bold = true
		case 2:
			s.dim = true
		case 22:
			s.bold, s.dim = false, false
		case 39:
			s.fill = "#e6edf3"
		default:
			if fill, ok := colours[n]; ok {
				s.fill = fill
			}
		}
	}
}
