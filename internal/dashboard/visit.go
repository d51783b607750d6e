package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/dashboard/format"
	"github.com/weirhq/weir/internal/edge/direct"
	"golang.org/x/sync/errgroup"
)

// visit is one request of a browser, with the access of the person behind it.
type visit struct {
	*http.Request
	api   *client.Client
	calls *calls // what was asked of the API
	// connect returns a client that notes its requests elsewhere.
	connect func(*calls) (*client.Client, error)
	clock   format.Clock
	who     api.Whoami
	// root is what all addresses of pages begin with.
	root string
	// readOnly says that the pages only show.
	readOnly bool
}

// fill makes the content of a page.
type fill func(context.Context, *visit) (content, error)

// filled is a page: its template, and what makes the content of it.
type filled struct {
	name string
	fill fill
}

// content returns what the page shows to the person, or why it may not be shown.
func (p filled) content(ctx context.Context, v *visit) (content, error) {
	c, err := p.fill(ctx, v)
	if err == nil {
		err = v.allowed(c.Page)
	}
	return c, err
}

// page registers a page, by its path below the root.
func (d *Dashboard) page(path, name string, fill fill) {
	if d.pages[name] == nil {
		panic("no template " + name)
	}
	d.mux.HandleFunc("GET "+Root+path, func(w http.ResponseWriter, r *http.Request) {
		p := filled{name, fill}
		if do, ok := r.Context().Value(insteadKey{}).(insteadOf); ok {
			do(w, r, p)
			return
		}
		v, err := d.visit(r)
		var c content
		if err == nil {
			c, err = p.content(r.Context(), v)
		}
		if err != nil {
			d.fail(w, v, err)
			return
		}
		d.render(w, v, name, http.StatusOK, c)
	})
}

// visit begins to answer a request, with the access of the person who is signed in.
func (d *Dashboard) visit(r *http.Request) (*visit, error) {
	v, err := d.visitWith(r, d.keyOf(r))
	if err != nil {
		return v, err
	}
	v.who, err = v.api.WhoAmI(r.Context())
	v.calls.forget()
	return v, err
}

func (d *Dashboard) visitWith(r *http.Request, key string) (v *visit, err error) {
	v = &visit{Request: r, clock: format.Clock{Zone: zoneOf(r), Now: d.now()}, calls: &calls{keyed: key != ""}, root: d.opts.Prefix + Root, readOnly: d.opts.ReadOnly}
	v.connect = func(to *calls) (*client.Client, error) {
		// The API sees the host and the address of the browser: it knows its own names, and slows down who guesses keys.
		return client.New(client.Options{
			Server: "http://" + r.Host, Key: key, UserAgent: "weir-dashboard", Tries: 1,
			HTTP: &http.Client{Transport: recorder{patient{direct.Transport{Handler: d.opts.API, From: r.RemoteAddr}}, to}},
		})
	}
	v.api, err = v.connect(v.calls)
	return v, err
}

// ask asks the API for what a part of a page shows.
type ask func(context.Context, *visit) error

// together makes parts of a page side by side. Each has a visit of its own; the page shows their requests in the order of
// the parts.
func (v *visit) together(ctx context.Context, parts []ask) error {
	visits := make([]*visit, len(parts))
	g, ctx := errgroup.WithContext(ctx)
	for i, do := range parts {
		own := *v
		own.calls = &calls{keyed: v.calls.keyed}
		var err error
		if own.api, err = v.connect(own.calls); err != nil {
			return err
		}
		visits[i] = &own
		g.Go(func() error { return do(ctx, &own) })
	}
	err := g.Wait()
	for _, own := range visits {
		v.calls.join(own.calls)
	}
	return err
}

// zoneOf returns the time zone of a browser, which its script writes into a cookie.
func zoneOf(r *http.Request) *time.Location {
	if cookie, err := r.Cookie("weir_zone"); err == nil {
		if name, err := url.QueryUnescape(cookie.Value); err == nil && name != "" {
			if z, err := time.LoadLocation(name); err == nil {
				return z
			}
		}
	}
	return time.Local
}

// pageOf asks for one page of a list. The path begins with /v1; empty values of the query are left out.
func pageOf[T any](ctx context.Context, v *visit, path string, query url.Values) (page api.Page[T], err error) {
	for name, values := range query {
		if len(values) == 0 || values[0] == "" {
			query.Del(name)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return page, v.api.Do(ctx, http.MethodGet, path, nil, &page)
}

// kept returns those of some filters that the address sets.
func (v *visit) kept(filters ...string) url.Values {
	kept, q := url.Values{}, v.URL.Query()
	for _, name := range filters {
		if value := strings.TrimSpace(q.Get(name)); value != "" {
			kept.Set(name, value)
		}
	}
	return kept
}

// between reads the filters from and to, which are in the viewer's zone, and says what is wrong with them.
func (v *visit) between(kept url.Values) (from, to time.Time, fault string) {
	at := func(name string) time.Time {
		if !kept.Has(name) {
			return time.Time{}
		}
		t, ok := momentIn(v.clock.Zone, kept.Get(name))
		if !ok || t.Unix() < 0 {
			fault = "Write dates and times such as 2026-12-24T09:00."
		}
		return t
	}
	from, to = at("from"), at("to")
	if fault == "" && kept.Has("from") && kept.Has("to") && !from.Before(to) {
		fault = "From must be before To."
	}
	if fault != "" {
		return time.Time{}, time.Time{}, fault
	}
	return from, to, ""
}

// inQuery writes a time as a value of a query; the zero time is empty.
func inQuery(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// collect returns up to most values of a list.
func collect[T any](list func(yield func(T, error) bool), most int) (all []T, err error) {
	for x, err := range list {
		if err != nil {
			return nil, err
		}
		if all = append(all, x); len(all) == most {
			break
		}
	}
	return all, nil
}

// refusal returns the problem that the API answered with, nil if err is something else.
func refusal(err error) *api.Problem {
	var refused *client.RefusedError
	if !errors.As(err, &refused) {
		return nil
	}
	if p := refused.Problem; p != nil && p.Code == sentBefore { // a person knows nothing of its Idempotency-Key
		said := *p
		said.Title, said.Detail, said.Fix = "Sent before", "this form was sent before with other content, and that was done",
			"Look at what it did, and open the form again to send another one"
		return &said
	}
	return refused.Problem
}

// sentBefore is the code of a refusal of a form that was sent before and changed since.
const sentBefore = "idempotency_conflict"
