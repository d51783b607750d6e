package term

import (
	"regexp"
	"strings"
)

// gap matches where a long line may be broken: between parts, and never inside a
// command that a user may want to copy.
var gap = regexp.MustCompile(` {2,}| · | → |, `)

// Wrap breaks a line that is wider than the terminal, and puts what follows
// under the text of the first part.
func Wrap(line string, wide int) string {
	if Width(line) <= wide {
		return line
	}
	head := headOf(line)
	indent := "\n" + strings.Repeat(" ", min(Width(head), wide/2))
	rest := line[len(head):]
	var b strings.Builder
	b.WriteString(head)
	at, mark := Width(head), ""
	for rest != "" {
		part, after, next := rest, "", ""
		if m := gap.FindStringIndex(rest); m != nil {
			part, after, next = rest[:m[0]], rest[m[0]:m[1]], rest[m[1]:]
		}
		sign := strings.TrimRight(mark, " ")
		if mark != "" && at+Width(mark+part)+Width(strings.TrimRight(after, " ")) > wide {
			b.WriteString(sign + indent)
			at = Width(indent) - 1
		} else {
			b.WriteString(mark)
			at += Width(mark)
		}
		b.WriteString(part)
		at += Width(part)
		mark, rest = after, next
	}
	return b.String()
}

// headOf is a line up to the text behind its label: "  input     ".
func headOf(line string) string {
	text := strings.TrimLeft(line, " ")
	lead := len(line) - len(text)
	if m := gap.FindStringIndex(text); m != nil && strings.TrimLeft(text[m[0]:m[1]], " ") == "" && Width(text[:m[0]]) < 24 {
		return line[:lead+m[1]]
	}
	return line[:lead]
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,=-]+$`)

// Quote makes a word that a shell takes as it is.
func Quote(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
