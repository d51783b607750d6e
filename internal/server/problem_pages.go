package server

import (
	_ "embed"
	"encoding/json"
	"html/template"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/weirhq/weir/internal/core/near"
)

//go:embed problem.html
var problemHTML string

// problemPage holds the content of a page about a code.
type problemPage struct {
	Prefix string `json:"-"`
	Code   string `json:"code"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	What   string `json:"what"`
	Fix    string `json:"fix"`
}

func pageOfCode(code string) (problemPage, bool) {
	m, ok := meanings[code]
	p := newProblem(code, "", "")
	return problemPage{Code: code, Title: p.Title, Status: p.Status, What: m.what, Fix: m.fix}, ok
}

// pageRoutes answers with pages for people: what a code means, and what there is.
func (s *Server) pageRoutes() {
	one := template.Must(template.New("problem").Parse(problemHTML))
	s.mux.HandleFunc("GET /problems/{code}", func(w http.ResponseWriter, r *http.Request) {
		page, ok := pageOfCode(r.PathValue("code"))
		if !ok {
			s.refuse(w, visitOf(r.Context()), s.noSuchCode(r.PathValue("code")))
			return
		}
		if strings.Contains(r.Header.Get("Accept"), "application/json") {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(page) // the client is gone
			return
		}
		page.Prefix = s.opts.Prefix
		s.show(w, r, one, page)
	})
	list := template.Must(template.New("docs").Parse(docsHTML))
	s.mux.HandleFunc("GET /docs", func(w http.ResponseWriter, r *http.Request) { s.show(w, r, list, s.docs()) })
}

func (s *Server) noSuchCode(code string) *problem {
	fix := "see " + s.at("/docs") + " for all codes"
	if word := near.Word(code, slices.Sorted(maps.Keys(meanings))); word != "" {
		fix = "did you mean " + s.at("/problems/"+word) + "?"
	}
	return newProblem("not_found", "unknown code "+shorten(code), fix)
}

// show writes a page that loads nothing from elsewhere and runs no script.
func (s *Server) show(w http.ResponseWriter, r *http.Request, t *template.Template, data any) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'self'; style-src 'self' 'sha256-"+styleHash+
		"'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	if err := t.Execute(w, data); err != nil && r.Context().Err() == nil {
		s.log.LogAttrs(r.Context(), slog.LevelWarn, "page not written", slog.Any("error", err))
	}
}
