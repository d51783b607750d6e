package dashboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/weirhq/weir/internal/dashboard/format"
)

// definition writes a value as people edit it, empty if nothing is set.
func definition(x any) string {
	raw, err := json.Marshal(x)
	if err != nil || string(raw) == "{}" {
		return ""
	}
	return pretty(raw)
}

// define reads a value of JSON or YAML. Members that do not exist are faults.
func (s *sheet) define(name string, into any) {
	i := s.at(name)
	if i.Value == "" {
		return
	}
	raw, fault := definedAs(i.Value)
	if i.Fault = fault; fault != "" {
		return
	}
	if err := strictly(raw, into); err != nil {
		i.Fault = format.Stop(err.Error())
	}
}

const (
	// mostNested is how deep a definition may be nested. The parser of YAML takes memory in proportion to the square of that.
	mostNested = 100
	// mostYAML is how many bytes of YAML are parsed. JSON may be as long as a form.
	mostYAML = 64 << 10
)

// definedAs returns the JSON of a text in JSON or YAML, or what is wrong with it.
func definedAs(text string) (raw []byte, fault string) {
	if nesting(text) > mostNested {
		return nil, fmt.Sprintf("This is nested more than %d deep. Flatten it.", mostNested)
	}
	if json.Valid([]byte(text)) {
		return []byte(text), ""
	}
	switch {
	case len(text) > mostYAML:
		return nil, fmt.Sprintf("This has %d bytes of YAML, more than %d. Write JSON, or use weir with a file.", len(text), mostYAML)
	case slices.ContainsFunc(strings.Fields(text), isAnchor):
		return nil, "Anchors, such as &name, are not supported. Write out what they stand for."
	}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, "This is neither JSON nor YAML: " + yaml.FormatError(err, false, false)
	}
	return raw, ""
}

// isAnchor reports whether a word of YAML names what follows, so that a few lines could stand for millions.
func isAnchor(word string) bool {
	return len(word) > 1 && word[0] == '&' && (unicode.IsLetter(rune(word[1])) || unicode.IsDigit(rune(word[1])))
}

// nesting returns how deep a text is nested by brackets, or by signs of lists in one line, at most. Brackets within strings count.
func nesting(text string) (deepest int) {
	depth := 0
	for line := range strings.Lines(text) {
		signs := 0
		for word := range strings.FieldsSeq(line) {
			if signs++; word != "-" && word != "?" {
				signs = 0
			}
			deepest = max(deepest, signs+depth)
		}
		for _, c := range line {
			switch c {
			case '[', '{':
				depth++
				deepest = max(deepest, depth)
			case ']', '}':
				depth = max(depth-1, 0)
			}
		}
	}
	return deepest
}

// mostIndented is how many bytes of spaces a document may be shown with.
const mostIndented = 256 << 10

// pretty indents JSON; other text, and what would become far longer, stays as it is.
func pretty(raw json.RawMessage) string {
	var out bytes.Buffer
	if indentation(raw) > mostIndented || json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}

// indentation returns how many spaces indented JSON has at most.
func indentation(raw []byte) (spaces int) {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			spaces += 2 * depth
		case c == ',' || c == ']' || c == '}':
			if c != ',' {
				depth--
			}
			spaces += 2 * depth
		}
	}
	return spaces
}
