package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

// System is an operating system and processor that weir has to build for.
type System struct{ OS, Arch string }

// Systems are those that differ from the usual ones in what breaks a build: an int of 32 bits, and
// system calls that do not exist.
var Systems = []System{{"linux", "386"}, {"windows", "amd64"}, {"darwin", "arm64"}}

// Shipped are the packages that users build: the program, the library and the examples.
var Shipped = []string{
	".", "./api/...", "./cli/...", "./client/...", "./cmd/...", "./engine/...", "./examples/...", "./operate/...", "./server/...",
	"./report/...", "./store/...", "./weirtest/...",
}

// CheckSystem type-checks the packages that match the patterns, and what they import, as a build for
// the system would. It compiles nothing, and of dependencies it reads the declarations alone: it takes seconds where a cold build
// takes minutes. Errors in dependencies are not reported.
func CheckSystem(root string, s System, patterns ...string) ([]Violation, error) {
	all, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps | packages.NeedModule |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesSizes,
		Dir: root,
		Env: append(os.Environ(), "GOOS="+s.OS, "GOARCH="+s.Arch, "CGO_ENABLED=0"),
		ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
			return outline(root, fset, name, src)
		},
	}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("packages for %s/%s: %w", s.OS, s.Arch, err)
	}
	var out []Violation
	packages.Visit(all, nil, func(p *packages.Package) {
		if p.Module == nil || !p.Module.Main {
			return
		}
		for _, e := range p.Errors {
			file, rest, _ := strings.Cut(strings.TrimPrefix(e.Pos, root+string(filepath.Separator)), ":")
			line, _, _ := strings.Cut(rest, ":")
			out = append(out, Violation{filepath.ToSlash(file) + ":" + line,
				fmt.Sprintf("does not build for %s/%s: %s", s.OS, s.Arch, e.Msg)})
		}
	})
	return out, nil
}

// outline parses a file; outside root it leaves out the bodies of functions.
func outline(root string, fset *token.FileSet, name string, src []byte) (*ast.File, error) {
	f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil || strings.HasPrefix(name, root+string(filepath.Separator)) {
		return f, err
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			fn.Body = nil
		}
	}
	return f, nil
}
