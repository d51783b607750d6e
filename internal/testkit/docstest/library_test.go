package docstest

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/testkit/archtest"
)

const libraryPage = "docs/library.md"

// TestThePageListsTheLibrary lists what the public packages export, with the first sentence of each comment.
func TestThePageListsTheLibrary(t *testing.T) {
	var table, names strings.Builder
	table.WriteString("| package | what it is for |\n|---|---|\n")
	for _, dir := range archtest.Public {
		p := documented(t, dir)
		short := strings.TrimPrefix(p.ImportPath, "github.com/weirhq/")
		fmt.Fprintf(&table, "| [`%s`](#%s) | %s |\n", short, anchorOf(short), tableText(p.Synopsis(p.Doc)))
		fmt.Fprintf(&names, "\n### %s\n\n`import \"%s\"`\n\n| name | |\n|---|---|\n", short, p.ImportPath)
		writeNames(&names, p)
	}
	Section(t, libraryPage, "packages", table.String())
	Section(t, libraryPage, "names", names.String())
}

func anchorOf(heading string) string { return strings.ReplaceAll(heading, "/", "") }

// documented reads the comments of a package. Nothing is compiled.
func documented(t *testing.T, dir string) *doc.Package {
	t.Helper()
	path := filepath.Join(Root(t), filepath.FromSlash(dir))
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, filepath.Join(path, e.Name()), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(set, files, strings.TrimSuffix("github.com/weirhq/weir/"+dir, "/."))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// writeNames lists functions and types, with the methods of each type in its row.
func writeNames(b *strings.Builder, p *doc.Package) {
	row := func(name, text string) { fmt.Fprintf(b, "| `%s` | %s |\n", name, tableText(p.Synopsis(text))) }
	for _, f := range p.Funcs {
		row(f.Name, f.Doc)
	}
	for _, t := range p.Types {
		row(t.Name, t.Doc)
		for _, f := range t.Funcs {
			row(f.Name, f.Doc)
		}
		for _, m := range t.Methods {
			row(t.Name+"."+m.Name, m.Doc)
		}
	}
}

// tableText writes a sentence of a comment into a table.
func tableText(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "[", "", "]", "").Replace(text)
}
