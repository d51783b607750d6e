package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// System is an operating system and processor that weir has to build for.
type System struct{ OS, Arch string }

// Systems are those that differ from the usual ones in what breaks a build: an int of 32 bits, and
// system calls that do not exist.
var Systems = []System{{"linux", "386"}, {"windows", "amd64"}, {"darwin", "arm64"}}

// Shipped are the packages that users build: the program, the library and the examples.
var Shipped = []string{
	".", "./api/...", "./cli/...", "./client/...", "./cmd/...", "./engine/...", "./examples/...", "./operate/...",
	"./report/...", "./store/...", "./weirtest/...",
}

// listed is the output of go list for a package.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct{ Main bool }
}

// own reports whether the package belongs to the module under test.
func (l *listed) own() bool { return l.Module != nil && l.Module.Main }

// CheckSystem type-checks the packages that match the patterns, and what they import, as a build for
// the system would. It compiles nothing, and of dependencies it reads the declarations alone: it takes seconds where a cold build
// takes minutes. Errors in dependencies are not reported.
func CheckSystem(root string, s System, patterns ...string) ([]Violation, error) {
	packages, err := list(root, s, patterns)
	if err != nil {
		return nil, err
	}
	c := &checker{root: root, system: s, fset: token.NewFileSet(), done: map[string]*types.Package{"unsafe": types.Unsafe}}
	for _, p := range packages { // what a package imports comes before it
		if err := c.check(p); err != nil {
			return nil, err
		}
	}
	return c.found, nil
}

// list asks the go command for the packages that match the patterns and everything that they import.
func list(root string, s System, patterns []string) ([]*listed, error) {
	cmd := exec.Command("go", append([]string{"list", "-e", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", "--"}, patterns...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+s.OS, "GOARCH="+s.Arch, "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list for %s/%s: %w: %s", s.OS, s.Arch, err, &stderr)
	}
	return decodeList(out)
}

// decodeList reads the JSON objects that go list prints one after another.
func decodeList(out []byte) ([]*listed, error) {
	var packages []*listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(listed)
		switch err := dec.Decode(p); {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, fmt.Errorf("output of go list: %w", err)
		}
		packages = append(packages, p)
	}
}

// checker type-checks packages for one system, imported ones first.
type checker struct {
	root   string
	system System
	fset   *token.FileSet
	done   map[string]*types.Package // by import path
	found  []Violation
}

// check parses and type-checks one package.
func (c *checker) check(p *listed) error {
	if p.ImportPath == "unsafe" {
		return nil
	}
	files, err := c.parse(p)
	if err != nil {
		return err
	}
	conf := types.Config{
		Importer:         imports{c, p},
		Sizes:            types.SizesFor("gc", c.system.Arch),
		FakeImportC:      true,
		IgnoreFuncBodies: !p.own(),
		Error: func(err error) {
			if p.own() {
				c.report(err)
			}
		},
	}
	c.done[p.ImportPath], _ = conf.Check(p.ImportPath, c.fset, files, nil) // errors go to conf.Error
	return nil
}

// parse reads the files that the system's build of a package consists of.
func (c *checker) parse(p *listed) ([]*ast.File, error) {
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(c.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parse: %w", err)
		}
		files = append(files, f)
	}
	return files, nil
}

// report notes an error of the type checker.
func (c *checker) report(err error) {
	where, what := c.system.OS+"/"+c.system.Arch, err.Error()
	if e, ok := errors.AsType[types.Error](err); ok {
		at := c.fset.Position(e.Pos)
		if rel, err := filepath.Rel(c.root, at.Filename); err == nil {
			where, what = fmt.Sprintf("%s:%d", filepath.ToSlash(rel), at.Line), "does not build for "+where+": "+e.Msg
		}
	}
	c.found = append(c.found, Violation{where, what})
}

// imports resolves the imports of one package.
type imports struct {
	checker *checker
	of      *listed
}

// Import returns a package that was checked before.
func (i imports) Import(path string) (*types.Package, error) {
	if mapped, ok := i.of.ImportMap[path]; ok { // vendored by the standard library
		path = mapped
	}
	if p := i.checker.done[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("package %s is not there", path)
}
