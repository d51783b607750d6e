// Package direct calls an HTTP handler of the same process through the client that programs use, without a socket.
package direct

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// Transport is a transport that calls a handler of this process: no socket is opened.
type Transport struct {
	Handler http.Handler
	// From is the address that requests seem to come from. Default: loopback.
	From string
}

// RoundTrip implements http.RoundTripper. It returns when the handler has written the header; the body is streamed.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	in := r.Clone(ctx)
	in.RequestURI, in.RemoteAddr, in.Host = r.URL.RequestURI(), cmp.Or(t.From, "127.0.0.1:0"), r.URL.Host
	if in.Body == nil {
		in.Body = http.NoBody
	}
	body, to := io.Pipe()
	w := &answer{head: http.Header{}, to: to, begun: make(chan struct{})}
	go func() {
		defer func() { w.end(recover()) }()
		t.Handler.ServeHTTP(w, in)
	}()
	select {
	case <-w.begun:
	case <-r.Context().Done():
		cancel()
		_ = body.CloseWithError(r.Context().Err()) // it never fails
		return nil, r.Context().Err()
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)), StatusCode: w.status, Proto: "HTTP/1.1",
		ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: answerBody{body, cancel}, ContentLength: -1, Request: r,
	}, nil
}

// answer is a response that a handler writes, for a reader in the same process.
type answer struct {
	head, sent http.Header // sent is head as it was when the status was written
	status     int
	to         *io.PipeWriter
	once       sync.Once
	begun      chan struct{}
}

// Header implements http.ResponseWriter.
func (w *answer) Header() http.Header { return w.head }

// WriteHeader implements http.ResponseWriter.
func (w *answer) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.head.Clone()
		close(w.begun)
	})
}

// Write implements http.ResponseWriter.
func (w *answer) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.to.Write(p)
}

// Flush implements http.Flusher: nothing is held back.
func (w *answer) Flush() { w.WriteHeader(http.StatusOK) }

// SetReadDeadline and SetWriteDeadline exist for http.ResponseController: both ends are one process.
func (w *answer) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing; see SetReadDeadline.
func (w *answer) SetWriteDeadline(time.Time) error { return nil }

// end closes the body. A handler that panicked has cut its response off.
func (w *answer) end(broken any) {
	if broken == nil {
		w.WriteHeader(http.StatusOK)
		_ = w.to.Close() // it never fails
		return
	}
	if broken != http.ErrAbortHandler { //nolint:errorlint // the value that net/http compares, too
		panic(broken)
	}
	w.WriteHeader(http.StatusBadGateway)
	_ = w.to.CloseWithError(errors.New("the response was cut off")) // it never fails
}

// answerBody ends the request when the reader has enough.
type answerBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (b answerBody) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}
