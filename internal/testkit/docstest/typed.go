package docstest

import "strings"

// Commands returns the calls of the program weir in a line of a shell, each as its words. It knows quotes, comments,
// pipes, ;, &&, & and redirections. Variables and $(…) stay as they are, as one word.
func Commands(line string) (all [][]string) {
	var words []string
	end := func() {
		for i, w := range words {
			if w == "weir" && len(words) > i {
				all = append(all, words[i:])
				break
			}
			if !strings.Contains(w, "=") { // a variable for the program
				break
			}
		}
		words = nil
	}
	for rest := line; ; {
		rest = strings.TrimLeft(rest, " \t")
		switch {
		case rest == "" || rest[0] == '#':
			end()
			return all
		case strings.ContainsRune("|;&()", rune(rest[0])):
			end()
			rest = rest[1:]
		case rest[0] == '<' || rest[0] == '>' || strings.HasPrefix(rest, "2>"):
			_, rest = word(strings.TrimLeft(rest, "2<>& "))
		case strings.HasPrefix(rest, "…"):
			rest = strings.TrimPrefix(rest, "…")
		default:
			var w string
			w, rest = word(rest)
			if i := strings.Index(w, "=$("); i > 0 && !strings.HasPrefix(w, "-") { // NAME=$(weir …)
				end()
				all = append(all, Commands(strings.TrimSuffix(w[i+3:], ")"))...)
				continue
			}
			words = append(words, w)
		}
	}
}

// word cuts the first word from a line.
func word(line string) (w, rest string) {
	var b strings.Builder
	quote, depth := byte(0), 0
	for i := range len(line) {
		ch := line[i]
		switch {
		case depth > 0 || quote == 0 && ch == '(' && i > 0 && line[i-1] == '$':
			if ch == '(' {
				depth++
			} else if ch == ')' {
				depth--
			}
			b.WriteByte(ch)
		case quote != 0 && ch == quote:
			quote = 0
		case quote == 0 && (ch == '\'' || ch == '"'):
			quote = ch
		case quote == 0 && strings.IndexByte(" \t|;&()<>", ch) >= 0:
			return b.String(), line[i:]
		default:
			b.WriteByte(ch)
		}
	}
	return b.String(), ""
}
