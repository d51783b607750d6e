package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Violation is one broken rule at one place.
type Violation struct {
	Where string // file:line, or the package or file that is at fault
	What  string // what is wrong and what to do instead
}

// String returns the line that a failing test prints.
func (v Violation) String() string { return v.Where + ": " + v.What }

// Tree is the parsed repository.
type Tree struct {
	Root     string // directory of go.mod
	Module   string // module path
	Packages []*Package
}

// Package holds the Go files of one directory.
type Package struct {
	Dir   string // slash path below the root, "." for the root
	Files []*File
}

// File is one parsed Go file.
type File struct {
	Name string // slash path below the root
	Test bool   // name ends in _test.go
	Fset *token.FileSet
	AST  *ast.File
}

// Name returns the package's name, without the _test of an external test package.
func (p *Package) Name() string {
	return strings.TrimSuffix(p.Files[0].AST.Name.Name, "_test")
}

// Code returns the files that are not tests.
func (p *Package) Code() []*File {
	return slices.DeleteFunc(slices.Clone(p.Files), func(f *File) bool { return f.Test })
}

// Import is one line of an import declaration.
type Import struct {
	Path string
	Spec *ast.ImportSpec
}

// Imports returns what f imports, in the order of the file.
func (f *File) Imports() []Import {
	var out []Import
	for _, spec := range f.AST.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			out = append(out, Import{p, spec})
		}
	}
	return out
}

// at makes a violation at a node of f.
func (f *File) at(n ast.Node, format string, args ...any) Violation {
	line := f.Fset.Position(n.Pos()).Line
	return Violation{fmt.Sprintf("%s:%d", f.Name, line), fmt.Sprintf(format, args...)}
}

// Load parses every Go file of the module rooted at root.
func Load(root, module string) (*Tree, error) {
	t := &Tree{Root: root, Module: module}
	byDir := map[string]*Package{}
	fset := token.NewFileSet()
	err := walk(root, func(name string) error {
		if !isGoSource(name) {
			return nil
		}
		src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		f, err := parse(fset, name, string(src))
		if err != nil {
			return err
		}
		p := byDir[path.Dir(name)]
		if p == nil {
			p = &Package{Dir: path.Dir(name)}
			byDir[p.Dir] = p
			t.Packages = append(t.Packages, p)
		}
		p.Files = append(p.Files, f)
		return nil
	})
	return t, err
}

// parse reads one source; name is its slash path below the root.
func parse(fset *token.FileSet, name, src string) (*File, error) {
	a, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	return &File{Name: name, Test: strings.HasSuffix(name, "_test.go"), Fset: fset, AST: a}, nil
}

// notOurs lists directories that tools create. out and bin are in .gitignore.
var notOurs = []string{".git", "bin", "node_modules", "out"}

// walk calls visit with the slash path, below root, of every regular file of the
// repository, in lexical order.
func walk(root string, visit func(name string) error) error {
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != root && slices.Contains(notOurs, d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(rel))
	})
}

// isGoSource reports whether a file is Go source of this module: not test data,
// nor a module of its own.
func isGoSource(name string) bool {
	return path.Ext(name) == ".go" && !strings.HasPrefix(name, "tools/") && !strings.HasPrefix(name, "internal/testkit/outside/") &&
		!slices.Contains(strings.Split(path.Dir(name), "/"), "testdata")
}
