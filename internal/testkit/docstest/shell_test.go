package docstest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// shell knows as much of one as the pages need: words with quotes, variables,
// here-documents into files, NAME=$(command), and one pipe into jq, grep or tail.
type shell struct {
	vars  map[string]string
	files map[string]string
	// programs do the work, each with the arguments after its name.
	programs map[string]func(args []string) (string, error)
}

var (
	assigns  = regexp.MustCompile(`^([A-Z_]+)=\$\((.*)\)$`)
	intoFile = regexp.MustCompile(`^cat > (\S+) <<'\w+'$`)
)

// run does one command and returns what it prints.
func (s *shell) run(c *command) (string, error) {
	if m := intoFile.FindStringSubmatch(c.text); m != nil {
		s.files[m[1]] = strings.Join(c.input, "\n") + "\n"
		return "", nil
	}
	if m := assigns.FindStringSubmatch(c.text); m != nil {
		out, err := s.piped(m[2])
		s.vars[m[1]] = strings.TrimSpace(out)
		return "", err
	}
	return s.piped(c.text)
}

func (s *shell) piped(text string) (string, error) {
	words, err := s.words(text)
	if err != nil {
		return "", err
	}
	left, right := words, []string(nil)
	if i := slices.Index(words, "|"); i >= 0 {
		left, right = words[:i], words[i+1:]
	}
	do := s.programs[left[0]]
	if do == nil {
		return "", fmt.Errorf("unknown program %s", left[0])
	}
	out, err := do(left[1:])
	if err != nil || right == nil {
		return out, err
	}
	return through(out, right)
}

// through returns the output of a program that a text is piped into.
func through(text string, program []string) (string, error) {
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n")+"\n", "\n")
	lines = lines[:len(lines)-1] // after the last newline is nothing
	switch {
	case program[0] == "jq":
		return jq(text, program[1:])
	case program[0] == "grep" && len(program) == 2:
		lines = slices.DeleteFunc(lines, func(l string) bool { return !strings.Contains(l, program[1]) })
	case program[0] == "tail" && len(program) == 3 && program[1] == "-n":
		n, err := strconv.Atoi(program[2])
		if err != nil {
			return "", err
		}
		lines = lines[max(0, len(lines)-n):]
	default:
		return "", fmt.Errorf("nothing is known of %q", program)
	}
	return strings.Join(lines, ""), nil
}

// words cuts a line as a shell does. Variables count outside single quotes.
func (s *shell) words(line string) (words []string, err error) {
	var word strings.Builder
	quote, begun := byte(0), false
	for i := 0; i < len(line); i++ {
		ch := line[i]
		switch {
		case quote == 0 && ch == ' ':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
			continue
		case quote == 0 && (ch == '\'' || ch == '"'):
			quote = ch
		case quote != 0 && ch == quote:
			quote = 0
		case quote != '\'' && ch == '$':
			name := variable.FindString(line[i+1:])
			value, ok := s.vars[name]
			if !ok {
				return nil, fmt.Errorf("the variable %q is not set", name)
			}
			word.WriteString(value)
			i += len(name)
		default:
			word.WriteByte(ch)
		}
		begun = true
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote is not closed in %s", line)
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

var variable = regexp.MustCompile(`^[A-Z_]+`)

func TestWordsOfALine(t *testing.T) {
	s := &shell{vars: map[string]string{"ID": "ba_1"}}
	for _, tt := range []struct{ name, line, want string }{
		{"blanks part words", "a  b c", `["a" "b" "c"]`},
		{"quotes keep them", `-d '{"a": "b c"}' x`, `["-d" "{\"a\": \"b c\"}" "x"]`},
		{"variables are filled in", `/v1/$ID/items "x $ID"`, `["/v1/ba_1/items" "x ba_1"]`},
		{"not between single quotes", `'$ID'`, `["$ID"]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := s.words(tt.line)
			if text := fmt.Sprintf("%q", got); err != nil || text != tt.want {
				t.Errorf("words = %s, %v, want %s", text, err, tt.want)
			}
		})
	}
	for _, bad := range []string{"'a", "$NOT"} {
		if _, err := s.words(bad); err == nil {
			t.Errorf("no error for %s", bad)
		}
	}
}

func TestWhatIsPipedIntoAProgram(t *testing.T) {
	for _, tt := range []struct{ name, program, want string }{
		{"the last lines", "tail -n 2", "b\n\n"},
		{"more than there are", "tail -n 9", "a\nb\n\n"},
		{"lines with a word", "grep b", "b\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := through("a\nb\n\n", strings.Fields(tt.program)); err != nil || got != tt.want {
				t.Errorf("%q, %v, want %q", got, err, tt.want)
			}
		})
	}
	if _, err := through("a", []string{"awk"}); err == nil {
		t.Error("no error for a program that is not known")
	}
}
