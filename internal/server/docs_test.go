package server

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/weirhq/weir/internal/access"
	"github.com/weirhq/weir/internal/docstest"
	"github.com/weirhq/weir/internal/service"
	"github.com/weirhq/weir/store/memstore"
)

// described is a server that answers nothing, with all of its routes.
func described(t *testing.T) *Server {
	t.Helper()
	m := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = m.Close() })
	return New(Options{Service: &service.Service{}, Store: m, Metrics: prometheus.NewRegistry()})
}

func TestThePageListsEveryRoute(t *testing.T) {
	s := described(t)
	byTag := map[string][]*huma.Operation{}
	for _, item := range s.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete, item.Head} {
			if op != nil {
				byTag[op.Tags[0]] = append(byTag[op.Tags[0]], op)
			}
		}
	}
	var b strings.Builder
	for _, tag := range slices.Sorted(maps.Keys(byTag)) {
		fmt.Fprintf(&b, "\n### %s%s\n\n| route | scope | what |\n|---|---|---|\n", strings.ToUpper(tag[:1]), tag[1:])
		slices.SortFunc(byTag[tag], func(x, y *huma.Operation) int {
			return cmp.Or(cmp.Compare(x.Path, y.Path), cmp.Compare(order(x.Method), order(y.Method)))
		})
		for _, op := range byTag[tag] {
			r := s.routes[op.Method+" "+op.Path]
			if r == nil {
				t.Errorf("%s %s is in the document and is no route", op.Method, op.Path)
				continue
			}
			fmt.Fprintf(&b, "| `%s %s` | %s | %s%s |\n", op.Method, op.Path, scopeOf(r), op.Summary, marks(r))
		}
	}
	docstest.Section(t, "docs/api.md", "routes", b.String())
}

// order is that of the methods in the list.
func order(method string) int {
	return slices.Index([]string{http.MethodPost, http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPatch, http.MethodDelete}, method)
}

func scopeOf(r *route) string {
	switch {
	case r.scope == access.Admin:
		return "`admin` (operators)"
	case r.scope != "":
		return "`" + string(r.scope) + "`"
	case r.known:
		return "any key"
	}
	return "none"
}

func marks(r *route) string {
	if r.keyed {
		return " ¹"
	}
	return ""
}

func TestThePageListsEveryProblem(t *testing.T) {
	var b strings.Builder
	b.WriteString("| code | status | title |\n|---|---|---|\n")
	names := slices.SortedFunc(maps.Keys(codes), func(x, y string) int {
		return cmp.Or(cmp.Compare(codes[x].status, codes[y].status), cmp.Compare(x, y))
	})
	for _, code := range names {
		fmt.Fprintf(&b, "| `%s` | %d | %s |\n", code, codes[code].status, codes[code].title)
	}
	docstest.Section(t, "docs/problems.md", "problems", b.String())
}

// TestThePageListsEveryCodeOfAField looks through the code for the codes of single
// fields, which have no entry of their own in the table.
func TestThePageListsEveryCodeOfAField(t *testing.T) {
	found := map[string]bool{}
	for _, dir := range []string{".", "internal/access", "internal/callback", "internal/egress", "internal/feed", "internal/mapping", "internal/schedule", "internal/server", "internal/service", "internal/source"} {
		files, err := filepath.Glob(filepath.Join(docstest.Root(t), dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !strings.HasSuffix(f, "_test.go") {
				codesIn(t, f, found)
			}
		}
	}
	for code := range codes {
		delete(found, code)
	}
	if len(found) < 10 {
		t.Fatalf("found %d codes of fields: the search is broken", len(found))
	}
	docstest.Section(t, "docs/problems.md", "fields", "`"+strings.Join(slices.Sorted(maps.Keys(found)), "`, `")+"`")
}

var isCode = regexp.MustCompile(`^[a-z]+(_[a-z0-9]+)+$`)

// codesIn notes the codes of errors about fields: Code in a literal, the first
// argument of Add, and constants that are used as either.
func codesIn(t *testing.T, file string, found map[string]bool) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := parser.ParseFile(token.NewFileSet(), file, raw, 0)
	if err != nil {
		t.Fatal(err)
	}
	note := func(e ast.Expr) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && isCode.MatchString(text) {
				found[text] = true
			}
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if name := typeName(n.Type); name == "FieldError" || name == "Refusal" || name == "RowError" || name == "InputError" {
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok && fmt.Sprint(kv.Key) == "Code" {
						note(kv.Value)
					}
				}
			}
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Add" && len(n.Args) == 4 {
				note(n.Args[0])
			}
		case *ast.ValueSpec: // CodeNotAllowed = "…", BadExpression = "…"
			for i, name := range n.Names {
				if i < len(n.Values) && (strings.HasPrefix(name.Name, "Code") || strings.HasPrefix(name.Name, "Bad") || strings.HasPrefix(name.Name, "Schema")) && !strings.Contains(file, "callback") {
					note(n.Values[i])
				}
			}
		}
		return true
	})
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}
