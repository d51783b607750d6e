package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/execute"
	"github.com/weirhq/weir/internal/service/access"
)

// visit is one request on its way through the server.
type visit struct {
	server    *Server
	id        string
	route     *route
	path      string // of the request
	who       access.Principal
	allowance access.Allowance
	from      string
	raw       []byte // the body, where it is JSON
	memory    claim  // what the body takes
	tenant    string // of what was changed, for the audit
	target    string
	reason    string
	before    any
	after     any
	unchanged bool // the request only asked what a change would do, or another had made it

	public     bool     // the routes of operators are elsewhere
	idempotent string   // name of the record that keeps the response; empty if there is no record
	try        *attempt // that this request is; nil: it has no Idempotency-Key
	again      bool     // an earlier try of the same request was undecided: it may have been done
	begun      bool     // an id was reserved: what follows may write
	undecided  bool     // the request failed after it may have done something
	replayed   bool     // the answer was kept from before: nothing was changed now
}

// sign gives a problem the id of the request, and the URL of its type.
func (v *visit) sign(p *problem) {
	if p.RequestID == "" && v.server != nil {
		p.RequestID, p.Type = v.id, v.server.at(p.Type)
	}
}

// tellQuota says what the key may still ask for.
func (v *visit) tellQuota(h http.Header) {
	if q := v.allowance; q.Limit > 0 {
		h.Set("RateLimit-Policy", fmt.Sprintf(`"key";q=%d;w=1`, q.Limit))
		h.Set("RateLimit", fmt.Sprintf(`"key";r=%d;t=%d`, q.Remaining, int(math.Ceil(q.Full.Seconds()))))
	}
}

// workFor limits how long a change may take. A longer one is answered with a 503, and continues with a repeat.
const workFor = 15 * time.Minute

type visitKey struct{}

func visitOf(ctx context.Context) *visit {
	v, _ := ctx.Value(visitKey{}).(*visit)
	if v == nil {
		return &visit{}
	}
	return v
}

func requestID(ctx context.Context) string { return visitOf(ctx).id }

// caller returns the caller of a request.
func caller(ctx context.Context) access.Principal { return visitOf(ctx).who }

// guarded is the way to the routes: form, route, access, idempotency, log and audit.
func (s *Server) guarded(next http.Handler, public bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{server: s, id: strings.ToLower("req_" + ulid.Make().String()), path: r.URL.Path, from: remote(r), memory: claim{of: s.memory}}
		body := s.patientBody(w, r)
		defer body.drain() // after everything: it holds no memory of the others
		defer v.memory.release()
		began := time.Now()
		out := &watched{ResponseWriter: w}
		out.Header().Set("Request-Id", v.id)
		out.Header().Set("X-Content-Type-Options", "nosniff")
		ctx, keep := s.whileAnswering(traced(context.WithValue(r.Context(), visitKey{}, v), r.Header))
		out.begun = keep
		r = r.WithContext(ctx)
		defer func() { s.done(r, v, out, began) }()
		defer s.caught(r, v, out)
		v.public = public
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = body
		}
		p := s.admit(r, v)
		v.tellQuota(out.Header())
		if p != nil {
			s.refuse(out, v, p)
			return
		}
		end, p := s.slot(v)
		if p != nil {
			s.refuse(out, v, p)
			return
		}
		defer end()
		if v.route.stream {
			keep() // much may have arrived
			s.streamed(out, r, next)
			return
		}
		if v.route.change { // the request has arrived whole: whether the client waits for the answer makes no difference
			ctx, cancel := context.WithTimeout(contextWithout(r), workFor)
			defer cancel()
			ctx, out.begun = s.whileAnswering(ctx)
			r = r.WithContext(ctx)
		}
		s.unstreamed(out, r, v, next)
	})
}

// traced returns a context in which the span of the client is under way, if the request names one.
func traced(ctx context.Context, h http.Header) context.Context {
	if c := weir.ParseTraceparent(h.Get(execute.HeaderTraceparent)); !c.IsZero() {
		return weir.WithTrace(ctx, c)
	}
	return ctx
}

// unstreamed asks the endpoint, or answers from memory what was done before with the same key.
func (s *Server) unstreamed(w *watched, r *http.Request, v *visit, next http.Handler) {
	if v.route.keyed {
		s.keyed(w, r, v, next)
		return
	}
	next.ServeHTTP(w, r)
}

// admit checks everything that can be checked before the endpoint is asked.
func (s *Server) admit(r *http.Request, v *visit) *problem {
	unknown := s.find(r, v)
	if p := s.checkHost(r, v); p != nil {
		return p
	}
	if access.InURL(r.URL) {
		return newProblem("key_in_url", "the URL holds an API key: URLs end up in logs",
			"send it in the header Authorization, and revoke this one")
	}
	if unknown != nil {
		return unknown
	}
	if p := checkHeaders(r.Header); p != nil {
		return p
	}
	if p := s.checkQuery(r.URL); p != nil {
		return p
	}
	if s.sites.Check(r) != nil && !s.invited(r) {
		return newProblem("cross_site", "a browser sends this from another site", "send it from a program or from a page of this server, or add its origin to the setting allowed_origins")
	}
	select {
	case <-s.stop:
		if v.route.change {
			return newProblem("draining", "this server is stopping", "ask again: another one takes over").after(5 * time.Second)
		}
	default:
	}
	if v.route.scope != "" && v.route.id != "metrics" && s.svc.Fleet.Silent() {
		return newProblem("store_unavailable", "the store does not answer; nothing was done", "ask again").after(silentAgain)
	}
	if v.route.id == "bulk_action.events" {
		if p := s.redeem(r); p != nil {
			return p
		}
	}
	if p := s.authenticate(r, v); p != nil {
		return p
	}
	if v.route.stream || r.Body == nil || r.Body == http.NoBody && r.ContentLength == 0 && !wantsBody(v.route) {
		return nil
	}
	return s.readJSON(r, v)
}

func (s *Server) checkQuery(u *url.URL) *problem {
	if len(u.RawQuery) > 16<<10 || strings.Count(u.RawQuery, "&") > 100 {
		return newProblem("bad_query", "there are too many parameters", "see "+s.at("/docs")+" for those there are")
	}
	all, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return newProblem("bad_query", "the query cannot be read", "escape % as %25 and ; as %3B")
	}
	for name, values := range all {
		if len(values) > 1 {
			return newProblem("bad_query", "the parameter "+clip(name)+" is there "+strconv.Itoa(len(values))+" times", "send it once")
		}
		if slices.Contains(times, name) && isEarly(values[0]) {
			return ofFields([]*weir.FieldError{{Code: "bad_filter", Field: name, Problem: shorten(values[0]) + " is before 1970",
				Fix: "name a later time, or leave it out"}})
		}
	}
	return nil
}

func wantsBody(r *route) bool { return r.method == http.MethodPut || r.method == http.MethodPatch }

// find looks up the route.
func (s *Server) find(r *http.Request, v *visit) *problem {
	if crooked(r.URL.Path) {
		v.route = &route{id: "none"}
		return s.noSuchRoute(r)
	}
	_, pattern := s.mux.Handler(r)
	known := s.routes[pattern]
	if v.route = known; v.offers(known) {
		return nil
	}
	v.route = &route{id: "none"}
	if known == nil && pattern != "" { // documents
		return nil
	}
	if allowed := s.allowed(r, v); len(allowed) > 0 {
		p := newProblem("method_not_allowed", "this route does not support "+r.Method, "use "+strings.Join(allowed, " or "))
		p.header = http.Header{"Allow": {strings.Join(allowed, ", ")}}
		return p
	}
	return s.noSuchRoute(r)
}

func (s *Server) noSuchRoute(r *http.Request) *problem {
	return newProblem("no_such_route", "no route is at "+shorten(r.URL.Path), "see "+s.at("/docs")+" for the list of routes")
}

// crooked reports whether a path is not written as any route is. It would be
// redirected otherwise, to a path that was not requested.
func crooked(p string) bool {
	straight := path.Clean("/" + p)
	return strings.IndexByte(p, 0) >= 0 || straight != p && straight+"/" != p
}

// offers reports whether there is such a route where the request came in.
func (v *visit) offers(r *route) bool { return r != nil && !(v.public && r.scope == access.Admin) }

func (s *Server) allowed(r *http.Request, v *visit) (methods []string) {
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead} {
		other := r.Clone(r.Context())
		other.Method = m
		if _, pattern := s.mux.Handler(other); v.offers(s.routes[pattern]) && m != r.Method {
			methods = append(methods, m)
		}
	}
	return methods
}

// authenticate finds out who asks, and whether they may.
func (s *Server) authenticate(r *http.Request, v *visit) *problem {
	if v.route.scope == "" && !v.route.known {
		return nil
	}
	var err error
	v.who, err = s.identify(r)
	if err == nil && v.route.scope != "" {
		err = v.who.Need(v.route.scope)
	}
	if err == nil && s.opts.Limits != nil {
		v.allowance, err = s.opts.Limits.Request(v.who.KeyID)
	}
	if err == nil {
		return nil
	}
	return s.problem(r.Context(), err)
}

// readJSON reads and checks a JSON body.
func (s *Server) readJSON(r *http.Request, v *visit) *problem {
	if p := wantType(r, "application/json"); p != nil {
		return p
	}
	raw, p := s.readAll(r, v)
	if p != nil {
		return p
	}
	if p := v.memory.build(r.Context(), raw); p != nil {
		return p
	}
	if raw, p = checkJSON(raw); p != nil {
		return p
	}
	if p := s.checkNulls(v.route, raw); p != nil {
		return p
	}
	v.raw = raw
	r.Body = io.NopCloser(bytes.NewReader(raw))
	r.ContentLength = int64(len(raw))
	v.note(raw)
	return nil
}

// readAll reads a body that fits into memory, unpacked.
func (s *Server) readAll(r *http.Request, v *visit) ([]byte, *problem) {
	var raw []byte
	plain, err := unpack(r, s.opts.MaxBody)
	if err == nil {
		raw, err = v.memory.readAll(plain)
	}
	var p *problem
	switch {
	case errors.As(err, &p) && p.Code == "body_too_large":
		p.Fix = "append items with POST …/items, which takes any number"
		return nil, p
	case errors.As(err, &p):
		return nil, p
	case err != nil:
		return nil, newProblem("cut_body", "the body ended too early", "send it again, with the right Content-Length")
	}
	r.Header.Del("Content-Encoding")
	return raw, nil
}

// note remembers the reason that a request gives.
func (v *visit) note(raw []byte) {
	if !bytes.Contains(raw, []byte("reason")) && bytes.IndexByte(raw, '\\') < 0 { // an escape may spell it
		return
	}
	var said struct{ Reason string }
	_ = json.Unmarshal(raw, &said) // a body without one is none
	v.reason = said.Reason
}

// wantType checks the type of a body.
func wantType(r *http.Request, types ...string) *problem {
	got := r.Header.Get("Content-Type")
	kind, params, err := mime.ParseMediaType(got)
	last := len(types) - 1
	fix := "send " + types[last]
	if last > 0 {
		fix = "send " + strings.Join(types[:last], ", ") + " or " + types[last]
	}
	switch {
	case got == "":
		return newProblem("unsupported_media_type", "Content-Type is missing", fix)
	case err != nil:
		return newProblem("unsupported_media_type", "the Content-Type cannot be read", fix)
	case params["charset"] != "" && !strings.EqualFold(params["charset"], "utf-8"):
		return newProblem("unsupported_media_type", "the charset is "+shorten(params["charset"]), "send UTF-8")
	}
	for _, t := range types {
		if kind == t {
			return nil
		}
	}
	return newProblem("unsupported_media_type", "the Content-Type is "+shorten(kind), fix)
}

// contextWithout outlives the request: what was done has to be noted.
func contextWithout(r *http.Request) context.Context { return context.WithoutCancel(r.Context()) }

func remote(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// refuse answers with a problem.
func (s *Server) refuse(w http.ResponseWriter, v *visit, p *problem) {
	v.sign(p)
	for k, values := range p.header {
		w.Header()[k] = values
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(&p.Problem) // the client is gone
}
