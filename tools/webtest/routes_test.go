package webtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// dashboard is where the pages are registered.
var dashboard = filepath.Join("..", "..", "internal", "dashboard")

// route is a call that registers something: its method, and the expression of its path.
type route struct {
	by   string // page, sheet, form, upload or download
	path string
}

// routes returns what the dashboard registers, as its source says.
func routes(t *testing.T) (all []route) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dashboard, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no source in %s: %v", dashboard, err)
	}
	var kinds []map[string]string
	var generic []*ast.CallExpr // those of each kind of settings
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			within := ""
			if fn, ok := decl.(*ast.FuncDecl); ok {
				within = fn.Name.Name
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CompositeLit:
					if values := kindOf(n); values != nil {
						kinds = append(kinds, values)
					}
				case *ast.CallExpr:
					switch by := registers(n); {
					case by == "" || within == "page" || within == "sheet":
					case within == "register":
						generic = append(generic, n)
					default:
						all = append(all, route{by, textOf(t, n.Args[0], nil)})
					}
				}
				return true
			})
		}
	}
	for _, call := range generic {
		for _, values := range kinds {
			all = append(all, route{registers(call), textOf(t, call.Args[0], values)})
		}
	}
	if len(all) < 60 {
		t.Fatalf("found only %d routes: the source is written in another way than this test expects", len(all))
	}
	return all
}

// registers returns the method of the dashboard that a call registers something with.
func registers(call *ast.CallExpr) string {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if x, ok := f.X.(*ast.Ident); !ok || x.Name != "d" {
		return ""
	}
	switch f.Sel.Name {
	case "page", "sheet", "form", "upload", "download":
		return f.Sel.Name
	}
	return ""
}

// kindOf returns what the paths of a kind of settings are made of, nil if a literal is something else.
func kindOf(lit *ast.CompositeLit) map[string]string {
	of, ok := lit.Type.(*ast.IndexExpr)
	if !ok {
		return nil
	}
	if name, ok := of.X.(*ast.Ident); !ok || name.Name != "kind" {
		return nil
	}
	values := map[string]string{}
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if text, ok := kv.Value.(*ast.BasicLit); ok && text.Kind == token.STRING {
				values["k."+kv.Key.(*ast.Ident).Name], _ = strconv.Unquote(text.Value) // it was parsed
			}
		}
	}
	values["base"] = "/settings/" + values["k.path"]
	return values
}

// textOf returns the value of an expression of texts.
func textOf(t *testing.T, e ast.Expr, values map[string]string) string {
	t.Helper()
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		if err != nil {
			t.Fatal(err)
		}
		return s
	case *ast.BinaryExpr:
		return textOf(t, e.X, values) + textOf(t, e.Y, values)
	case *ast.Ident:
		if v, ok := values[e.Name]; ok {
			return v
		}
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			if v, ok := values[x.Name+"."+e.Sel.Name]; ok {
				return v
			}
		}
	}
	t.Fatalf("this test cannot read the path %#v", e)
	return ""
}
