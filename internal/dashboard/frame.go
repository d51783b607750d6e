package dashboard

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/weirhq/weir/internal/dashboard/format"
)

// content is what a page has of its own.
type content struct {
	Title string // of the browser's tab
	Nav   string // the entry of the navigation that is current
	Page  any
	// Weir holds the commands of weir that show or do the same.
	Weir []string
	// Still says that the page is not kept up to date, although it has parts that could be.
	Still bool
}

// frame is what the frame of all pages shows.
type frame struct {
	content
	Root          string // what addresses of pages begin with
	API           string // what addresses of the API begin with
	Version, Node string
	Clock         format.Clock
	Theme         string
	Here          string // the address of the page
	Me            string // who is signed in
	SignedIn      bool
	Entries       []entry
	Note          *note
	Calls         []string
	Method        string
	ReadOnly      bool
	Live          bool // it has parts that change
	Tour          bool // it has notes of the tour
	TourClosed    bool // the tour can be opened again
	visit         *visit
}

type entry struct {
	Name, Path string
	// operators: only who sees what all tenants share has the page.
	operators bool
	Current   bool
}

var navigation = []entry{{Name: "Overview", Path: "/"}, {Name: "Bulk actions", Path: "/bulk-actions"}, {Name: "Items", Path: "/items"},
	{Name: "Failed items", Path: "/failed"}, {Name: "Schedules", Path: "/schedules"},
	{Name: "Resources", Path: "/resources", operators: true}, {Name: "Lanes", Path: "/lanes", operators: true},
	{Name: "Simulator", Path: "/simulator"}, {Name: "Settings", Path: "/settings"}}

// Partial reports whether the person sees a part of the tenants only, and so no sums of all.
func (f *frame) Partial() bool { return !f.visit.covers(nil) }

// frame puts the content of a page into the frame of all.
func (d *Dashboard) frame(v *visit, c content) *frame {
	f := &frame{content: c, Root: v.root, API: d.opts.Prefix, Version: d.opts.Version, Node: d.opts.Node, Clock: v.clock,
		Here: d.opts.Prefix + v.URL.RequestURI(), SignedIn: d.keyOf(v.Request) != "", Me: v.who.Name, Calls: v.calls.list, visit: v,
		Method: v.Method, ReadOnly: d.opts.ReadOnly}
	if f.Weir == nil {
		f.Weir = v.calls.weir
	}
	_, signsIn := c.Page.(signInPage)
	for _, e := range navigation {
		if signsIn || e.operators && !v.operates() {
			continue
		}
		e.Current = e.Name == c.Nav
		f.Entries = append(f.Entries, e)
	}
	if cookie, err := v.Cookie("weir_theme"); err == nil && (cookie.Value == "light" || cookie.Value == "dark") {
		f.Theme = cookie.Value
	}
	return f
}

func (d *Dashboard) render(w http.ResponseWriter, v *visit, name string, status int, c content) {
	f := d.frame(v, c)
	f.TourClosed = d.opts.Tour && tourClosed(v.Request)
	f.Tour = d.opts.Tour && !f.TourClosed && toured(name)
	f.Note, f.Live = d.takeNote(w, v.Request), d.hasLive[name] && !c.Still && v.Method == http.MethodGet
	var out bytes.Buffer
	if err := d.pages[name].ExecuteTemplate(&out, "frame", f); err != nil {
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
	var again *pageAgain
	var instead *pageInstead
	var elsewhere *pageElsewhere
	switch {
	case errors.As(err, &instead):
		d.render(w, v, instead.name, instead.status, instead.content)
		return
	case errors.As(err, &again):
		d.render(w, v, again.name, http.StatusUnprocessableEntity, again.content)
		return
	case errors.As(err, &elsewhere):
		http.Redirect(w, v.Request, v.root+elsewhere.to, http.StatusSeeOther)
		return
	}
	status, p := d.reason(err)
	if status == http.StatusUnauthorized && !d.opts.OwnLogin {
		d.showSignIn(w, v, status, "")
		return
	}
	if v.Method == http.MethodPost && p.Code != sentBefore {
		p.Did = "Nothing was changed."
	}
	d.render(w, v, "error", status, content{Title: "Not done", Page: p})
}

// reason returns the status of a failure, and what a person has to know about it.
func (d *Dashboard) reason(err error) (status int, p problem) {
	status, p = http.StatusInternalServerError, problem{Text: err.Error()}
	var instead *pageInstead
	var lacks *lackError
	var elsewhere *pageElsewhere
	switch refused := refusal(err); {
	case errors.As(err, &instead):
		status = instead.status
		if said, ok := instead.content.Page.(problem); ok {
			p = said
		}
	case errors.As(err, &elsewhere):
		status, p.Text = http.StatusGone, "Another page has this now"
	case errors.Is(err, errNotNow):
		status = http.StatusConflict
	case errors.Is(err, errReadOnly), errors.As(err, &lacks):
		status = http.StatusForbidden
	case refused != nil:
		status, p = refused.Status, problem{Text: refused.Detail, Fix: refused.Fix, Code: refused.Code}
		if status >= http.StatusInternalServerError { // the operator finds it in the log
			p.Request = refused.RequestID
		}
		for _, f := range refused.Errors {
			if f.Message != refused.Detail {
				p.More = append(p.More, strings.TrimPrefix(f.Field+": "+f.Message, ": "))
			}
		}
	}
	return status, p
}

// missing answers for addresses that are not those of a page. The address of a form leads to the page above it.
func (d *Dashboard) missing(w http.ResponseWriter, r *http.Request) {
	if to := d.above(r); to != "" {
		http.Redirect(w, r, d.opts.Prefix+to, http.StatusSeeOther)
		return
	}
	v, err := d.visit(r)
	if err == nil {
		err = &pageInstead{pageAgain{"error", content{Title: "Not found", Page: problem{Text: "No page has this address",
			Fix: "Check the address, or choose a page above"}}}, http.StatusNotFound}
	}
	d.fail(w, v, err)
}

// above returns the page above the address of a form that was opened as a page; it is empty for other requests.
func (d *Dashboard) above(r *http.Request) string {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return ""
	}
	pattern := func(method, at string) string {
		_, found := d.mux.Handler(&http.Request{Method: method, URL: &url.URL{Path: at}, Host: r.Host})
		return found
	}
	at := strings.TrimSuffix(r.URL.Path, "/")
	if !strings.HasPrefix(pattern(http.MethodPost, at), "POST ") {
		return ""
	}
	for at = path.Dir(at); strings.HasPrefix(at, Root+"/"); at = path.Dir(at) {
		if strings.HasPrefix(pattern(http.MethodGet, at), "GET ") {
			return at
		}
	}
	return Root + "/"
}

// problem is what the page of an error shows.
type problem struct {
	Text, Fix, Code, Request, Did string
	More                          []string
}
