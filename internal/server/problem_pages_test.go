package server

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// notAnswered are codes of items and of the program's own mistakes, which no request is answered with.
var notAnswered = []string{
	"condition", "handler_bug", "handler_error", "panic", "late", "loop", "timeout", "cancelled", "refused", "unreachable", "bad_answer", "too_large",
	"source_changed", "records_removed", "page_too_large", "expression_failed",
}

// TestEveryCodeHasAPage looks through the packages whose errors become answers.
func TestEveryCodeHasAPage(t *testing.T) {
	for _, dir := range []string{".", "../service", "../service/check", "../service/registry", "../service/chain", "../service/draft", "../service/bulk", "../service/outlook", "../service/watch", "../service/result", "../service/fleet", "../service/schedule", "../edge/egress", "../edge/execute", "../edge/mapping", "../edge/source", "../service/access", "../service/callback", "../service/upload", "../../engine"} {
		for code, where := range codesIn(t, dir) {
			if _, ok := meanings[code]; !ok && !strings.Contains(" "+strings.Join(notAnswered, " ")+" ", " "+code+" ") {
				t.Errorf("code %s, of %s, has no page", code, where)
			}
		}
	}
	for code, m := range meanings {
		if m.what == "" || m.fix == "" || !regexp.MustCompile(`^[a-z_]+$`).MatchString(code) {
			t.Errorf("the page of %s is not complete: %+v", code, m)
		}
	}
}

// codesIn finds the codes that a package writes into its errors.
func codesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && path != dir {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if code := codeOf(n); code != "" {
				found[code] = path
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// codeOf is the code that a piece of a program gives to an error, if it is one.
func codeOf(n ast.Node) string {
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		if k, ok := n.Key.(*ast.Ident); ok && k.Name == "Code" {
			return word(n.Value)
		}
	case *ast.CallExpr:
		name := ""
		switch f := n.Fun.(type) {
		case *ast.Ident:
			name = f.Name
		case *ast.SelectorExpr:
			name = f.Sel.Name
		}
		if name == "newProblem" || name == "Add" && len(n.Args) == 4 {
			return word(n.Args[0])
		}
	}
	return ""
}

func word(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	text, _ := strconv.Unquote(lit.Value) // the parser has read it
	return text
}

func TestPagesForPeople(t *testing.T) {
	h := described(t).Handler()
	get := func(path, accept string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for _, tt := range []struct {
		name, path, accept string
		status             int
		kind, says         string
	}{
		{"a code", "/problems/unknown_action", "text/html", 200, "text/html; charset=utf-8", "<code>unknown_action</code>, status 422"},
		{"a code for programs", "/problems/sealed", "application/json", 200, "application/json", `"status":409`},
		{"an unknown code", "/problems/seeled", "text/html", 404, "application/problem+json", "did you mean /problems/sealed?"},
		{"the routes", "/docs", "text/html", 200, "text/html; charset=utf-8", "POST /v1/bulk-actions/{id}/items"},
		{"the fields", "/docs", "text/html", 200, "text/html; charset=utf-8", "<code>on_bad_line</code>"},
		{"the codes", "/docs", "text/html", 200, "text/html; charset=utf-8", `<a href="/problems/no_items">`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := get(tt.path, tt.accept)
			if w.Code != tt.status || w.Header().Get("Content-Type") != tt.kind || !strings.Contains(w.Body.String(), tt.says) {
				t.Errorf("%s = %d %s without %q:\n%.2000s", tt.path, w.Code, w.Header().Get("Content-Type"), tt.says, w.Body)
			}
			if tt.status == 200 && tt.accept == "text/html" {
				csp := w.Header().Get("Content-Security-Policy")
				if !strings.HasPrefix(csp, "default-src 'self';") || strings.Contains(csp, "unsafe") || strings.Contains(w.Body.String(), "<script") || strings.Contains(w.Body.String(), "src=") {
					t.Errorf("the page loads or runs something; policy %q", csp)
				}
			}
		})
	}
}
