package server

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

//go:embed docs.html
var docsHTML string

//go:embed page.css
var pageCSS string

// styleHash lets browsers use our style sheet, and no injected one.
var styleHash = func() string {
	sum := sha256.Sum256([]byte(pageCSS))
	return base64.StdEncoding.EncodeToString(sum[:])
}()

// docsPage is the API as a page tells it.
type docsPage struct {
	Prefix  string
	Version string
	Style   template.CSS
	Groups  []docsGroup
	Codes   []problemPage
}

type docsGroup struct {
	Name   string
	Routes []docsRoute
}

type docsRoute struct {
	Method, Path, Summary string
	Text                  []string
	Params                []docsField
	Fields                []docsField
}

type docsField struct {
	Name, In, Type, Text string
	Required             bool
}

// docs makes the page of the OpenAPI document: nothing has to be loaded to read it.
func (s *Server) docs() docsPage {
	page := docsPage{Prefix: s.opts.Prefix, Version: s.opts.Version, Style: template.CSS(pageCSS)} //nolint:gosec // our own
	groups := map[string][]docsRoute{}
	for path, item := range s.api.OpenAPI().Paths {
		for method, op := range operations(item) {
			groups[cmp.Or(append(op.Tags, "")[0], "other")] = append(groups[cmp.Or(append(op.Tags, "")[0], "other")],
				s.docsRoute(method, path, op))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		slices.SortFunc(groups[name], func(a, b docsRoute) int {
			return cmp.Or(cmp.Compare(a.Path, b.Path),
				cmp.Compare(a.Method, b.Method))
		})
		page.Groups = append(page.Groups, docsGroup{name, groups[name]})
	}
	for _, code := range slices.Sorted(maps.Keys(meanings)) {
		p, _ := pageOfCode(code) // it is there
		page.Codes = append(page.Codes, p)
	}
	return page
}

// operations are those of a path.
func operations(item *huma.PathItem) map[string]*huma.Operation {
	all := map[string]*huma.Operation{
		http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodPatch: item.Patch,
		http.MethodDelete: item.Delete, http.MethodHead: item.Head,
	}
	maps.DeleteFunc(all, func(_ string, op *huma.Operation) bool { return op == nil })
	return all
}

func (s *Server) docsRoute(method, path string, op *huma.Operation) docsRoute {
	r := docsRoute{Method: method, Path: path, Summary: op.Summary}
	for part := range strings.SplitSeq(op.Description, "\n\n") {
		if part = strings.TrimSpace(part); part != "" {
			r.Text = append(r.Text, strings.ReplaceAll(part, "`", ""))
		}
	}
	for _, p := range op.Parameters {
		r.Params = append(r.Params, docsField{Name: p.Name, In: p.In, Type: typeName(p.Schema),
			Text: cmp.Or(p.Description, textOf(p.Schema)), Required: p.Required})
	}
	if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
		return r
	}
	body := s.resolved(op.RequestBody.Content["application/json"].Schema)
	if body == nil {
		return r
	}
	for _, name := range slices.Sorted(maps.Keys(body.Properties)) {
		f := body.Properties[name]
		if f.ReadOnly {
			continue
		}
		r.Fields = append(r.Fields, docsField{Name: name, Type: typeName(f), Text: textOf(f),
			Required: slices.Contains(body.Required, name)})
	}
	return r
}

func textOf(f *huma.Schema) string {
	if f == nil {
		return ""
	}
	return f.Description
}

// typeName is the type of a field in a word.
func typeName(f *huma.Schema) string {
	switch {
	case f == nil:
		return ""
	case f.Ref != "":
		return "object"
	case f.Type == huma.TypeArray:
		return "list"
	}
	return cmp.Or(f.Type, "any")
}
