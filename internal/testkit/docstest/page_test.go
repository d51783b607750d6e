package docstest

import (
	"fmt"
	"strings"
	"testing"
)

// command is something that a page has its reader type, and what is printed then.
type command struct {
	line   int // of the page, from 1
	text   string
	input  []string // of a here-document
	output []string
	last   int // line after the output
}

// commands lists what is typed in the blocks of a page that are marked console.
func commands(page string) (all []*command) {
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		if lines[i] != "```console" {
			continue
		}
		for i++; i < len(lines) && lines[i] != "```"; {
			c := &command{line: i + 1}
			i = c.read(lines, i)
			all = append(all, c)
		}
	}
	return all
}

// read takes one command from line i on, and returns the line after it.
func (c *command) read(lines []string, i int) int {
	text := strings.TrimPrefix(lines[i], "$ ")
	for i++; strings.HasSuffix(text, `\`); i++ {
		text = strings.TrimSuffix(text, `\`) + strings.TrimSpace(lines[i])
	}
	c.text = text
	if _, word, ok := strings.Cut(text, "<<'"); ok {
		word = strings.TrimSuffix(word, "'")
		for ; lines[i] != word; i++ {
			c.input = append(c.input, lines[i])
		}
		i++
	}
	for ; lines[i] != "```" && !strings.HasPrefix(lines[i], "$ "); i++ {
		c.output = append(c.output, lines[i])
	}
	c.last = i + 1
	return i
}

// rewrite returns the page with what was really printed.
func rewrite(page string, all []*command, printed map[*command]string) string {
	lines, out, at := strings.Split(page, "\n"), []string(nil), 0
	for _, c := range all {
		end := c.last - 1 - len(c.output)
		out = append(out, lines[at:end]...)
		if text := strings.TrimRight(printed[c], "\n"); text != "" {
			out = append(out, strings.Split(text, "\n")...)
		}
		at = c.last - 1
	}
	return strings.Join(append(out, lines[at:]...), "\n")
}

func TestCommandsOfAPage(t *testing.T) {
	const page = "text\n```console\n$ weir version\nweir 1\n$ curl -s \\\n    a \\\n    b\n```\n```sh\nnot this\n```\n```console\n$ cat > f <<'END'\none\nEND\n```\nend"
	var got strings.Builder
	all := commands(page)
	for _, c := range all {
		fmt.Fprintf(&got, "%d %q %q %q\n", c.line, c.text, c.input, c.output)
	}
	want := "3 \"weir version\" [] [\"weir 1\"]\n5 \"curl -s a b\" [] []\n13 \"cat > f <<'END'\" [\"one\"] []\n"
	if got.String() != want {
		t.Errorf("commands:\n%swant:\n%s", got.String(), want)
	}
	again := rewrite(page, all, map[*command]string{all[0]: "weir 2\nnew\n", all[1]: "b"})
	if want := strings.Replace(strings.Replace(page, "weir 1", "weir 2\nnew", 1), "    b\n", "    b\nb\n", 1); again != want {
		t.Errorf("rewritten:\n%s\nwant:\n%s", again, want)
	}
}
