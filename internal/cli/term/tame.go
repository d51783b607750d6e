package term

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Unruly reports whether a character does something to a terminal, or to
// the reader of a line, instead of being visible: it ends the line, moves the
// cursor, changes colours, or turns the direction in which the rest is read.
func Unruly(r rune) bool {
	const joiner, nonJoiner = '\u200d', '\u200c' // of emoji and of scripts that need them
	return !unicode.IsGraphic(r) && r != joiner && r != nonJoiner
}

// Tame shows what is unruly in foreign text, as in \x1b and \n, instead of having the terminal obey it.
func Tame(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, Unruly) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case Unruly(r):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteRune(r)
		}
		s = s[n:]
	}
	return b.String()
}

// ownColour matches what [Paint] writes around text.
var ownColour = regexp.MustCompile(`\x1b\[(?:0|1|2|31|32|33|36)m`)

// Tame is the function Tame for a line that was painted: it keeps our own colours, where there are any.
func (p Paint) Tame(line string) string {
	if !p {
		return Tame(line)
	}
	var b strings.Builder
	at := 0
	for _, m := range ownColour.FindAllStringIndex(line, -1) {
		b.WriteString(Tame(line[at:m[0]]) + line[m[0]:m[1]])
		at = m[1]
	}
	b.WriteString(Tame(line[at:]))
	return b.String()
}

// TameText is Tame for text of several lines, each of which but the first is indented: none can pass for a line of ours.
func TameText(text, indent string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = Tame(lines[i])
	}
	return strings.Join(lines, "\n"+indent)
}

// JSONLines passes lines of JSON on, with what is unruly in them escaped. JSON
// itself lets characters pass that some terminals obey, such as U+009B, and
// that some programs take for the end of a line, such as U+0085.
type JSONLines struct{ To io.Writer }

// Write takes whole lines, as a slog.Handler writes them.
func (w JSONLines) Write(lines []byte) (int, error) {
	if !bytes.ContainsFunc(lines, escapable) {
		return w.To.Write(lines)
	}
	var b bytes.Buffer
	for _, r := range string(lines) { // valid: the encoder replaces what is not
		switch {
		case !escapable(r):
			b.WriteRune(r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	if _, err := w.To.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(lines), nil
}

// escapable leaves the end of the line.
func escapable(r rune) bool { return r != '\n' && Unruly(r) }
