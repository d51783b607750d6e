package dashboard

import (
	"embed"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
)

// Options configures [New]. API, Sealer and Caller have to be set.
type Options struct {
	// API answers the requests of the pages, in this process.
	API http.Handler
	// Sealer seals the cookies of people who sign in.
	Sealer Sealer
	// Prefix is the path under which browsers reach the server. Default: none.
	Prefix string
	// Version and Node are in the footer.
	Version, Node string
	// OwnLogin says that the API knows the caller of a page by the context of the request: people do not sign in with a key.
	OwnLogin bool
	// Stop ends the streams of live pages when it is closed. Default: never.
	Stop <-chan struct{}
	// Stream takes a place for a live page of a key that is bound to some tenants, and returns what gives it back; nil if
	// none is free for it. The place can be lost to others, which closes lost. Default: there is always one.
	Stream func(key string, tenants []string) (end func(), lost <-chan struct{})
	// Caller returns what tells who the caller of a request with the header of the API is now, and what ends the use of it.
	// The caller was who before; an error refuses it.
	Caller func(r *http.Request, who api.Whoami) (now func() (api.Whoami, error), leave func())
	// ReadOnly shows no verbs, and refuses forms.
	ReadOnly bool
	// Tour shows notes that explain the demo of weir dev. People can close them.
	Tour bool
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
	hub   hub
	// hasLive says which pages have parts that change.
	hasLive map[string]bool
}

//go:embed templates assets
var files embed.FS

// maxForm is the most bytes of a form. Files of items are sent to a route of their own.
const maxForm = 1 << 20

// Root is the path of the pages, below the prefix, and Assets that of their style sheet and script.
const (
	Root   = "/ui"
	Assets = Root + "/assets/"
)

// New makes the pages.
func New(o Options) *Dashboard {
	d := &Dashboard{opts: o, mux: http.NewServeMux(), log: o.Logger, now: time.Now,
		sites: http.NewCrossOriginProtection(), hub: hub{looks: map[lookKey]*look{}, sessions: map[string]*openSession{}}}
	if d.log == nil {
		d.log = slog.Default()
	}
	d.pages, d.hasLive = parse(), map[string]bool{}
	for name, page := range d.pages {
		d.hasLive[name] = slices.ContainsFunc(page.Templates(), func(t *template.Template) bool { return strings.HasPrefix(t.Name(), livePart) })
	}
	assets, err := fs.Sub(files, "assets")
	if err != nil {
		panic(err) // they are embedded
	}
	d.mux.Handle("GET "+Assets, http.StripPrefix(Assets, cached(http.FileServerFS(assets))))
	d.mux.HandleFunc("GET "+Assets+"{$}", http.NotFound) // their list is not for people
	d.mux.HandleFunc("GET "+Root+"/live", d.live)
	d.mux.HandleFunc("GET "+Root+"/check", d.check)
	if !o.OwnLogin {
		d.mux.HandleFunc("POST "+Root+"/sign-in", d.signIn)
		d.mux.HandleFunc("POST "+Root+"/sign-out", d.signOut)
	}
	d.mux.HandleFunc("POST "+Root+"/theme", d.setTheme)
	if o.Tour {
		d.mux.HandleFunc("POST "+Root+"/tour", d.setTour)
	}
	d.mux.HandleFunc(Root+"/", d.missing)
	d.page("/{$}", "overview", d.overview)
	d.bulkPages()
	d.newPages()
	d.itemPages()
	d.failedPages()
	d.schedulePages()
	d.resourcePages()
	d.lanePages()
	d.simulatorPages()
	d.settingsPages()
	d.helpPages()
	return d
}

// ServeHTTP implements http.Handler.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	if at, err := url.Parse("http://" + r.Host); err != nil || at.Hostname() == "" || at.Host != r.Host {
		http.Error(w, "This server does not have the name in the header Host.", http.StatusMisdirectedRequest)
		return
	}
	if err := d.sites.Check(r); err != nil {
		http.Error(w, "This was sent from another site.", http.StatusForbidden)
		return
	}
	d.mux.ServeHTTP(w, r)
}

// parse reads the templates: each page is the frame with its own main part.
func parse() map[string]*template.Template {
	frame := template.Must(template.New("frame").Funcs(functions).ParseFS(files, "templates/frame.html", "templates/parts*.html"))
	pages := map[string]*template.Template{}
	entries, err := fs.ReadDir(files, "templates")
	if err != nil {
		panic(err) // they are embedded
	}
	for _, e := range entries {
		name := e.Name()
		if name == "frame.html" || name == "bulk-head.html" || strings.HasPrefix(name, "parts") {
			continue
		}
		of := []string{"templates/" + name}
		if strings.HasPrefix(name, "bulk-") { // the pages of one bulk action have a head in common
			of = append(of, "templates/bulk-head.html")
		}
		pages[strings.TrimSuffix(name, ".html")] = template.Must(template.Must(frame.Clone()).ParseFS(files, of...))
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
