package server

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/rs/cors"
)

// originsFor is how long a browser need not ask again what the scripts of an origin may do.
const originsFor = 2 * time.Hour

// invited reports whether a request may come from another site: it is of a script of an origin that is listed, and does
// not act by a cookie of the browser, with which an embedder may sign people in.
func (s *Server) invited(r *http.Request) bool {
	return slices.Contains(s.opts.Origins, r.Header.Get("Origin")) && (s.opts.Authenticate == nil || r.Header.Get("Authorization") != "")
}

// withOrigins lets the scripts of pages of other origins use the API (CORS). Browsers send no cookies with what they ask.
func (s *Server) withOrigins(h http.Handler) http.Handler {
	if len(s.opts.Origins) == 0 {
		return h
	}
	return cors.New(cors.Options{
		AllowedOrigins: s.opts.Origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
		AllowedHeaders: []string{
			"Authorization", "Content-Encoding", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", "Last-Event-ID",
			"Tus-Resumable", "Upload-Length", "Upload-Metadata", "Upload-Offset",
		},
		ExposedHeaders:      append(slices.Sorted(maps.Keys(headerTexts)), "Request-Id"),
		MaxAge:              int(originsFor.Seconds()),
		AllowPrivateNetwork: true,
	}).Handler(h)
}
