package server

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/weirhq/weir/internal/service"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/draft"
	"github.com/weirhq/weir/internal/service/fleet"
	"github.com/weirhq/weir/internal/testkit/docstest"
	"github.com/weirhq/weir/store/memstore"
)

// described is a server that answers nothing, with all of its routes.
func described(t *testing.T) *Server {
	t.Helper()
	m := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = m.Close() })
	return New(Options{Service: &service.Service{Base: &service.Base{}, Drafts: &draft.Drafts{}, Fleet: &fleet.Fleet{}}, Store: m, Metrics: prometheus.NewRegistry()})
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
	var all []problemPage
	for code := range meanings {
		page, _ := pageOfCode(code)
		all = append(all, page)
	}
	slices.SortFunc(all, func(x, y problemPage) int {
		return cmp.Or(cmp.Compare(x.Status, y.Status), cmp.Compare(x.Code, y.Code))
	})
	var b strings.Builder
	b.WriteString("| code | status | what it means | what to do |\n|---|---|---|---|\n")
	for _, p := range all {
		fmt.Fprintf(&b, "| `%s` | %d | %s | %s |\n", p.Code, p.Status, cell(p.What), cell(p.Fix))
	}
	docstest.Section(t, "docs/problems.md", "problems", b.String())
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
