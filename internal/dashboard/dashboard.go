package dashboard

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/dashboard/format"
	"github.com/weirhq/weir/internal/edge/direct"
)

// Options configures [New]. API and Sealer have to be set.
type Options struct {
	// API answers the requests of the pages, in this process.
	API http.Handler
	// Sealer seals the cookies of people who sign in.
	Sealer Sealer
	// Prefix is the path under which browsers reach the server. Default: none.
	Prefix string
	// OwnLogin says that the API knows the caller of a page by the context of the request: no one signs in with a key.
	OwnLogin bool
	// ReadOnly hides everything that changes something, and refuses it.
	ReadOnly bool
	// Version and Node are in the footer.
	Version, Node string
	// Logger takes the log. Default [slog.Default].
	Logger *slog.Logger
}

// Dashboard answers the requests of browsers.
type Dashboard struct {
	opts  Options
	mux   *http.ServeMux
	pages map[string]*template.Template
	log   *slog.Logger
	now   func() time.Time
	sites *http.CrossOriginProtection // refuses forms of other sites
}

//go:embed templates assets
var files embed.FS

// maxForm is the most bytes of a form.
const maxForm = 1 << 20

// Root is the path of the pages, below the prefix, and Assets that of their style sheet and script.
const (
	Root   = "/ui"
	Assets = Root + "/assets/"
)

// New makes the pages.
func New(o Options) *Dashboard {
	d := &Dashboard{opts: o, mux: http.NewServeMux(), log: o.Logger, now: time.Now,
		sites: http.NewCrossOriginProtection()}
	if d.log == nil {
		d.log = slog.Default()
	}
	d.pages = parse()
	assets, err := fs.Sub(files, "assets")
	if err != nil {
		panic(err) // they are embedded
	}
	d.mux.Handle("GET "+Assets, http.StripPrefix(Assets, cached(http.FileServerFS(assets))))
	d.mux.HandleFunc("GET "+Root+"/live", d.live)
	if !o.OwnLogin {
		d.mux.HandleFunc("POST "+Root+"/sign-in", d.signIn)
		d.mux.HandleFunc("POST "+Root+"/sign-out", d.signOut)
	}
	d.mux.HandleFunc("POST "+Root+"/theme", d.setTheme)
	d.page("GET "+Root+"/{$}", "overview", d.overview)
	d.page("GET "+Root+"/bulk-actions", "bulk-actions", d.bulkActions)
	d.page("GET "+Root+"/bulk-actions/{id}", "bulk-action", d.bulkAction)
	d.page("GET "+Root+"/bulk-actions/{id}/{verb}", "confirm", d.confirm)
	d.mux.HandleFunc("POST "+Root+"/bulk-actions/{id}/{verb}", d.act)
	return d
}

// ServeHTTP implements http.Handler.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	if err := d.sites.Check(r); err != nil {
		http.Error(w, "This was sent from another site.", http.StatusForbidden)
		return
	}
	if d.opts.ReadOnly && r.Method == http.MethodPost && !ownForms[r.URL.Path] {
		http.Error(w, "These pages change nothing. Use the API or the command line.", http.StatusForbidden)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	d.mux.ServeHTTP(w, r)
}

// ownForms are the forms that change nothing but what the browser keeps.
var ownForms = map[string]bool{Root + "/sign-in": true, Root + "/sign-out": true, Root + "/theme": true}

// parse reads the templates: each page is the frame with its own main part.
func parse() map[string]*template.Template {
	frame := template.Must(template.New("frame").Funcs(functions).ParseFS(files, "templates/frame.html", "templates/parts.html"))
	pages := map[string]*template.Template{}
	entries, err := fs.ReadDir(files, "templates")
	if err != nil {
		panic(err) // they are embedded
	}
	for _, e := range entries {
		if name := e.Name(); name != "frame.html" && name != "parts.html" {
			pages[name[:len(name)-len(".html")]] = template.Must(template.Must(frame.Clone()).ParseFS(files, "templates/"+name))
		}
	}
	return pages
}

// cached lets browsers keep the style sheet and the script for a while.
func cached(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "private, max-age=300")
		next.ServeHTTP(w, r)
	})
}

// visit is one request for a page.
type visit struct {
	*http.Request
	api   *client.Client
	clock format.Clock
}

// filled is a page: its template, and what makes the content of it.
type filled struct {
	name string
	fill func(context.Context, *visit) (content, error)
}

// page registers a page.
func (d *Dashboard) page(pattern, name string, fill func(context.Context, *visit) (content, error)) {
	d.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(liveKey{}) != nil {
			d.push(w, r, filled{name, fill})
			return
		}
		v, err := d.visit(r)
		var c content
		if err == nil {
			c, err = fill(r.Context(), v)
		}
		if err != nil {
			d.fail(w, v, err)
			return
		}
		d.render(w, v, name, http.StatusOK, c)
	})
}

// visit begins to answer a request, with the access of the person who is signed in.
func (d *Dashboard) visit(r *http.Request) (*visit, error) { return d.visitWith(r, d.keyOf(r)) }

func (d *Dashboard) visitWith(r *http.Request, key string) (v *visit, err error) {
	zone := time.Local
	if cookie, err := r.Cookie("weir_zone"); err == nil {
		if z, err := time.LoadLocation(cookie.Value); err == nil {
			zone = z
		}
	}
	v = &visit{Request: r, clock: format.Clock{Zone: zone, Now: d.now()}}
	// The API sees the host and the address of the browser: it knows its own names, and slows down who guesses keys.
	v.api, err = client.New(client.Options{
		Server: "http://" + r.Host, Key: key, UserAgent: "weir-dashboard", Tries: 1,
		HTTP: &http.Client{Transport: direct.Transport{Handler: d.opts.API, From: r.RemoteAddr}},
	})
	return v, err
}

// content is what a page has of its own.
type content struct {
	Title string // of the browser's tab
	Nav   string // the entry of the navigation that is current
	Page  any
}

// frame is what the frame of all pages shows.
type frame struct {
	content
	Prefix, Root  string
	Version, Node string
	Clock         format.Clock
	Theme         string
	Here          string // the address of the page
	SignedIn      bool
	Entries       []entry
}

type entry struct {
	Name, Path string
	Current    bool
}

var navigation = []entry{{Name: "Overview", Path: "/"}, {Name: "Bulk actions", Path: "/bulk-actions"}}

// frame puts the content of a page into the frame of all.
func (d *Dashboard) frame(v *visit, c content) frame {
	f := frame{content: c, Prefix: d.opts.Prefix, Root: d.opts.Prefix + Root, Version: d.opts.Version, Node: d.opts.Node, Clock: v.clock,
		Here: d.opts.Prefix + v.URL.RequestURI(), SignedIn: d.keyOf(v.Request) != ""}
	for _, e := range navigation {
		e.Current = e.Name == c.Nav
		f.Entries = append(f.Entries, e)
	}
	if cookie, err := v.Cookie("weir_theme"); err == nil && (cookie.Value == "light" || cookie.Value == "dark") {
		f.Theme = cookie.Value
	}
	return f
}

func (d *Dashboard) render(w http.ResponseWriter, v *visit, name string, status int, c content) {
	var out bytes.Buffer
	if err := d.pages[name].ExecuteTemplate(&out, "frame", d.frame(v, c)); err != nil {
		d.log.Error("a page could not be rendered", "page", name, "err", err)
		http.Error(w, "This page could not be made. The log of the server says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // the browser is gone
}

// fail shows why a page cannot be shown.
func (d *Dashboard) fail(w http.ResponseWriter, v *visit, err error) {
	status, p := http.StatusInternalServerError, problem{Text: err.Error()}
	if errors.Is(err, errNotNow) {
		status = http.StatusConflict
	}
	var refused *client.RefusedError
	if errors.As(err, &refused) {
		if refused.Problem.Status == http.StatusUnauthorized && !d.opts.OwnLogin {
			d.showSignIn(w, v, http.StatusUnauthorized, "")
			return
		}
		status, p = refused.Problem.Status, problem{
			Text: refused.Problem.Detail, Fix: refused.Problem.Fix, Code: refused.Problem.Code, Request: refused.Problem.RequestID,
		}
	}
	d.render(w, v, "error", status, content{Title: "Not shown", Page: p})
}

// problem is what the page of an error shows.
type problem struct{ Text, Fix, Code, Request string }
