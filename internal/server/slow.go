package server

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Bounds of what a connection may take before its request is understood.
const (
	headersWithin = 5 * time.Second
	idleWithin    = time.Minute
	maxHeaders    = 32 << 10 // that are accepted
	// that are read at all, so that who sends a little too much is told as of everything else; net/http allows for 4096 more
	headerBytes = 64<<10 - 4096
)

// HTTP returns a server for h that slow and greedy clients cannot hold up: headers
// have to come within five seconds and fit into 32 KiB, and a connection without a
// request is closed after a minute. Bodies have limits of their own. Headers of
// more than 64 KiB are not read: net/http answers them by itself, in plain text.
// Requests get ctx as their base, and know the address that the server listens on.
func HTTP(ctx context.Context, h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		BaseContext: func(l net.Listener) context.Context { return withListener(ctx, l.Addr()) },
		Handler:     h, ReadHeaderTimeout: headersWithin, IdleTimeout: idleWithin, MaxHeaderBytes: headerBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// checkHeaders refuses headers that are read, but too large.
func checkHeaders(h http.Header) *problem {
	size := 0
	for name, values := range h {
		for _, v := range values {
			size += len(name) + len(v) + len(": \r\n")
		}
	}
	if size <= maxHeaders {
		return nil
	}
	return newProblem("headers_too_large", fmt.Sprintf("the headers have %d bytes, more than %d", size, maxHeaders),
		"send fewer or shorter headers")
}
