package archtest

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"

	"golang.org/x/tools/go/packages"
)

// exports maps import paths to files of export data, which the go command made.
type exports map[string]string

// listExports asks the go command, run in dir, for the export data of the named
// packages and of all they import. Packages that do not build are left out.
func listExports(dir string, pkgs ...string) (exports, error) {
	mode := packages.NeedName | packages.NeedExportFile | packages.NeedImports | packages.NeedDeps
	all, err := packages.Load(&packages.Config{Mode: mode, Dir: dir}, pkgs...)
	out := exports{}
	packages.Visit(all, nil, func(p *packages.Package) {
		if p.ExportFile != "" {
			out[p.PkgPath] = p.ExportFile
		}
	})
	return out, err
}

// open is the lookup function of the importer.
func (e exports) open(imp string) (io.ReadCloser, error) {
	name, ok := e[imp]
	if !ok {
		return nil, fmt.Errorf("no export data of %s", imp)
	}
	return os.Open(name)
}

// Kinds type-checks the code of p and returns what its range statements walk
// over. Type errors are not reported here, the compiler does that better; what
// they leave open is [Unknown].
func Kinds(p *Package, imp string, e exports) func(ast.Expr) Kind {
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	p.typeCheck(imp, e, info)
	return func(x ast.Expr) Kind { return kindOf(info.TypeOf(x)) }
}

// typeCheck type-checks the code of p, and fills info as far as the code has no errors.
func (p *Package) typeCheck(imp string, e exports, info *types.Info) []*ast.File {
	var fset *token.FileSet
	var files []*ast.File
	for _, f := range p.Code() {
		fset, files = f.Fset, append(files, f.AST)
	}
	if len(files) > 0 {
		conf := types.Config{Importer: importer.ForCompiler(fset, "gc", e.open), Error: func(error) {}}
		_, _ = conf.Check(imp, fset, files, info) // the compiler reports errors better
	}
	return files
}

// kindOf sees through names, pointers and type parameters.
func kindOf(t types.Type) Kind {
	if t == nil || t == types.Typ[types.Invalid] {
		return Unknown
	}
	switch u := t.Underlying().(type) {
	case *types.Map:
		return Map
	case *types.Chan:
		return Channel
	case *types.Interface:
		return kindOfTerms(u)
	}
	return Ordered
}

// kindOfTerms answers for a type parameter: the worst kind that its constraint allows.
func kindOfTerms(i *types.Interface) Kind {
	worst := Ordered
	for k := range i.NumEmbeddeds() {
		switch e := i.EmbeddedType(k).(type) {
		case *types.Union:
			for j := range e.Len() {
				worst = max(worst, kindOf(e.Term(j).Type()))
			}
		default:
			worst = max(worst, kindOf(e))
		}
	}
	return worst
}
