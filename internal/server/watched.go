package server

import (
	"errors"
	"log/slog"
	"net/http"
	"path"
	"runtime/debug"
	"time"

	"github.com/weirhq/weir/internal/service/access"
)

// watched is a response that remembers its status.
type watched struct {
	http.ResponseWriter
	status int
	begun  func() // is called when the answer begins
}

// WriteHeader implements http.ResponseWriter.
func (w *watched) WriteHeader(status int) {
	w.begin(status)
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *watched) Write(b []byte) (int, error) {
	w.begin(http.StatusOK)
	return w.ResponseWriter.Write(b)
}

func (w *watched) begin(status int) {
	if w.status == 0 {
		w.status = status
		w.begun()
	}
}

// Unwrap lets http.ResponseController through.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher.
func (w *watched) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() } // a writer that cannot flush is not an error

// caught turns a panic of an endpoint into an answer.
func (s *Server) caught(r *http.Request, v *visit, w *watched) {
	broken := recover()
	if broken == nil {
		return
	}
	if err, ok := broken.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(broken)
	}
	s.log.LogAttrs(r.Context(), slog.LevelError, "endpoint panicked", slog.String("request_id", v.id),
		slog.String("route", v.route.id), slog.Any("panic", broken), slog.String("stack", string(debug.Stack())))
	if w.status == 0 {
		s.refuse(w, v, newProblem("internal", "something went wrong that should not have", "try again"))
	}
}

// done logs and counts a request, and audits what it changed.
func (s *Server) done(r *http.Request, v *visit, w *watched, began time.Time) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	took := time.Since(began)
	s.heads.request(v.route.id, r.Method, w.status, took)
	if s.opts.LogRequests {
		s.log.LogAttrs(r.Context(), slog.LevelInfo, "request", slog.String("request_id", v.id),
			slog.String("method", r.Method), slog.String("route", v.route.id), slog.Int("status", w.status), slog.String("took",
				took.String()), slog.String("key", v.who.KeyID))
	}
	if v.route.change && w.status < 300 && !v.replayed && !v.unchanged && s.opts.Audit != nil {
		s.audit(r, v, w)
	}
}

// audit notes who changed what.
func (s *Server) audit(r *http.Request, v *visit, w *watched) {
	target, tenant := v.target, v.tenant
	if target == "" {
		target = r.PathValue("id") + r.PathValue("name")
	}
	if at := w.Header().Get("Location"); target == "" && at != "" {
		target = path.Base(at) // what was made says where it is
	}
	if tenant == "" && len(v.who.Tenants) == 1 {
		tenant = v.who.Tenants[0] // it can have changed only this tenant's objects
	}
	_, err := s.opts.Audit.Append(contextWithout(r), access.Change{
		Who: v.who, From: v.from, Action: v.route.id, Target: target, Tenant: tenant, Before: v.before, After: v.after,
		Reason: v.reason, RequestID: v.id,
	})
	if err != nil {
		s.log.LogAttrs(r.Context(), slog.LevelError, "change not audited", slog.String("request_id", v.id),
			slog.String("action", v.route.id), slog.String("target", target), slog.Any("error", err))
	}
}
