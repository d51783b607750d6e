package archtest

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// vagueNames say where code ended up, not what it is about.
var vagueNames = []string{"base", "common", "helper", "helpers", "misc", "shared", "types", "util", "utils"}

// CheckHouse checks the house rules of every package: it documents its purpose, has a
// descriptive name, does nothing when imported, takes its context from the caller, and
// skips none of its tests.
func CheckHouse(t *Tree) []Violation {
	var out []Violation
	for _, p := range t.Packages {
		out = append(out, checkComment(p)...)
		out = append(out, checkName(p)...)
		for _, f := range p.Files {
			out = append(out, checkInit(f)...)
			out = append(out, checkContext(p, f)...)
			out = append(out, checkSkips(f)...)
		}
	}
	return out
}

// checkComment requires a package comment in at least one file that begins as go doc expects.
func checkComment(p *Package) []Violation {
	want := "Package " + p.Name() + " "
	if p.Name() == "main" {
		want = "" // a program may begin with its own name
	}
	if slices.ContainsFunc(p.Files, func(f *File) bool {
		text := f.AST.Doc.Text()
		return text != "" && strings.HasPrefix(joinLines(text)+" ", want)
	}) {
		return nil
	}
	return []Violation{{p.Dir, "has no package comment that begins with \"" + want + "\": say what it decides and promises"}}
}

func checkName(p *Package) []Violation {
	for _, name := range []string{p.Name(), path.Base(p.Dir)} {
		if slices.Contains(vagueNames, name) {
			return []Violation{{p.Dir, "is called " + name + ": name it for its subject"}}
		}
	}
	return nil
}

func checkInit(f *File) []Violation {
	var out []Violation
	for _, d := range f.AST.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			out = append(out, f.at(fn, "init runs by being imported: make it a call or a literal"))
		}
	}
	return out
}

// checkContext lets only programs, tests and examples begin a context.
func checkContext(p *Package, f *File) []Violation {
	if f.Test || p.Name() == "main" || covers("examples/...", p.Dir) {
		return nil
	}
	var out []Violation
	names := f.importNames()
	ast.Inspect(f.AST, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Background" && sel.Sel.Name != "TODO" {
			return true
		}
		if id, ok := sel.X.(*ast.Ident); ok && names[id.Name] == "context" {
			out = append(out, f.at(sel, "context.%s cuts the caller off: take a context", sel.Sel.Name))
		}
		return true
	})
	return out
}

// skips lists the methods by which a test skips itself.
var skips = []string{"Skip", "Skipf", "SkipNow"}

// checkSkips finds tests that can be skipped: a test that does not run proves nothing,
// and its absence is not noticed. A property test may drop one draw; its parameter is called r.
func checkSkips(f *File) []Violation {
	var out []Violation
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && slices.Contains(skips, sel.Sel.Name) {
			if id, ok := sel.X.(*ast.Ident); ok && id.Name != "r" {
				out = append(out, f.at(sel, "%s.%s: no test is skipped; bring what it needs, or delete it", id.Name, sel.Sel.Name))
			}
		}
		return true
	})
	return out
}
