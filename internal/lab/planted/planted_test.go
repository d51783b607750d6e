package planted

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

func TestEveryBugCanBePlanted(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range all {
		if sources, err := patched("../../..", []Bug{b}); err != nil || len(sources) == 0 {
			t.Errorf("%d files are changed, %v", len(sources), err)
		}
	}
	sources, err := patched("../../..", all)
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range sources {
		if _, err := parser.ParseFile(token.NewFileSet(), file, text, 0); err != nil {
			t.Error(err)
		}
	}
}

func TestEachBugIsSwitchedOnByItsOwnName(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, b := range all {
		if seen[b.Name] || b.Text == "" {
			t.Errorf("bug %q is there twice, or has no text", b.Name)
		}
		seen[b.Name] = true
		for _, e := range b.Edits {
			if !strings.Contains(e.New, `planted.Is("`+b.Name+`")`) {
				t.Errorf("bug %q, %s: the edit is not guarded by its name", b.Name, e.File)
			}
		}
	}
}

func TestOneBugIsSwitchedOnAtATime(t *testing.T) {
	defer Choose("")
	if Is("a") {
		t.Error("a bug is switched on before one is chosen")
	}
	Choose("a")
	if !Is("a") || Is("b") {
		t.Errorf("a is %v and b is %v after a was chosen", Is("a"), Is("b"))
	}
}

func TestAnEditMustFitOnce(t *testing.T) {
	e := Edit{File: "x.go", Old: "b\n", New: "c\n"}
	for source, want := range map[string]string{"a\nb\n": "a\nc\n", "b\na\n": "c\na\n", "a\n": "", "b\nb\n": "", "ab\n": ""} {
		got, err := e.apply(source)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("apply(%q) = %q, %v, want %q", source, got, err, want)
		}
	}
}

func TestWhatIsNoEditIsRefused(t *testing.T) {
	for _, text := range []string{"-- a.go", "+ x", "== a\ntext\n-- a.go\nwrong", "== a\ntext\n+x"} {
		if got, err := parse(text); err == nil {
			t.Errorf("parse(%q) = %+v", text, got)
		}
	}
}
