package planted

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed bugs.txt
var bugs string

// Bug is one deliberate mistake.
type Bug struct {
	Name  string
	Text  string // what goes wrong
	Edits []Edit
}

// Edit replaces lines of a file that occur there once.
type Edit struct {
	File     string // from the root of the module
	Old, New string
}

// All returns the bugs of bugs.txt. A line "== name" begins a bug, the line after it says
// what goes wrong, and "-- file" begins an edit, whose lines start as in a diff.
func All() ([]Bug, error) { return parse(bugs) }

func parse(text string) (all []Bug, err error) {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		name, isBug := strings.CutPrefix(line, "== ")
		file, isEdit := strings.CutPrefix(line, "-- ")
		switch {
		case line == "":
		case isBug && i+1 < len(lines):
			i++
			all = append(all, Bug{Name: name, Text: lines[i]})
		case isEdit && len(all) > 0:
			b := &all[len(all)-1]
			b.Edits = append(b.Edits, Edit{File: file})
		case len(all) > 0 && len(all[len(all)-1].Edits) > 0 && strings.ContainsAny(line[:1], " -+"):
			b := &all[len(all)-1]
			b.Edits[len(b.Edits)-1].add(line)
		default:
			return nil, fmt.Errorf("bugs.txt, line %d: %q is not part of an edit", i+1, line)
		}
	}
	return all, nil
}

// add takes one line of a diff.
func (e *Edit) add(line string) {
	mark, rest := line[0], line[1:]+"\n"
	if mark != '+' {
		e.Old += rest
	}
	if mark != '-' {
		e.New += rest
	}
}

// apply returns source with the edit made.
func (e *Edit) apply(source string) (string, error) {
	text, old := "\n"+source, "\n"+e.Old // whole lines alone fit
	at := strings.Index(text, old)
	if at < 0 || strings.Contains(text[at+1:], old) {
		return "", fmt.Errorf("%s does not have these lines exactly once:\n%s", e.File, e.Old)
	}
	return source[:at] + e.New + source[at+len(e.Old):], nil
}
