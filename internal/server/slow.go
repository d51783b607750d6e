package server

import (
	"log/slog"
	"net/http"
	"time"
)

// Bounds of what a connection may take before its request is understood.
const (
	headersWithin = 5 * time.Second
	idleWithin    = time.Minute
	headerBytes   = 32<<10 - 4096 // net/http allows for 4096 more
)

// HTTP returns a server for h that slow and greedy clients cannot hold up: headers
// have to come within five seconds and fit into 32 KiB, and a connection without a
// request is closed after a minute. Bodies have limits of their own.
func HTTP(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headersWithin, IdleTimeout: idleWithin, MaxHeaderBytes: headerBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
