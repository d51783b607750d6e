package docstest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Update reports whether pages are rewritten instead of compared.
func Update() bool { return os.Getenv("UPDATE") != "" }

// Root returns the directory of the repository.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the working directory")
		}
		dir = up
	}
}

// Read returns the text of a page, named from the root of the repository.
func Read(t testing.TB, page string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(Root(t), filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Write replaces the text of a page.
func Write(t testing.TB, page, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(Root(t), filepath.FromSlash(page)), []byte(text),
		0o644); err != nil { //nolint:gosec // a public page
		t.Fatal(err)
	}
}

// Section checks that the part of a page with this name has this text.
func Section(t testing.TB, page, name, want string) {
	t.Helper()
	text := Read(t, page)
	got, err := section(text, name)
	want = strings.TrimSpace(want)
	switch {
	case err != nil:
		t.Fatalf("%s: %v", page, err)
	case got == want:
	case Update():
		Write(t, page, replace(text, name, want))
	default:
		t.Errorf("%s: the part %q is not current; run UPDATE=1 go test in this package to write it anew (-page +want):\n%s", page, name,
			cmp.Diff(strings.Split(got, "\n"), strings.Split(want, "\n")))
	}
}

func begin(name string) string { return "<!-- begin " + name + " -->\n" }
func end(name string) string   { return "\n<!-- end " + name + " -->" }

// section returns the part of a page between its two comments.
func section(text, name string) (string, error) {
	_, rest, ok := strings.Cut(text, begin(name))
	if !ok {
		return "", fmt.Errorf("no line %q", strings.TrimSpace(begin(name)))
	}
	got, _, ok := strings.Cut("\n"+rest, end(name))
	if !ok {
		return "", fmt.Errorf("no line %q", strings.TrimSpace(end(name)))
	}
	return strings.TrimSpace(got), nil
}

// replace returns the page with another text in that part, which must exist.
func replace(text, name, with string) string {
	before, rest, _ := strings.Cut(text, begin(name))
	_, after, _ := strings.Cut("\n"+rest, end(name))
	return before + begin(name) + with + end(name) + after
}
