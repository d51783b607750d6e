package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"

	"github.com/weirhq/weir/internal/service/access"
)

// SignInError means that Options.Authenticate knows no caller of a request.
type SignInError struct {
	URL string // where a person signs in; empty: not known
}

// Error says what to do.
func (e *SignInError) Error() string { return "no one is signed in" }

type cameAsKey struct{}

// CameAs returns r with a note of the request as it came in, for Options.Authenticate. Requests that the pages make
// in this process with the same context have the same caller, whom Authenticate is asked about each time: a person
// who has signed out is refused at once. A client cannot set this, as it could a header.
func CameAs(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), cameAsKey{}, r))
}

// Origin returns the request as it came in.
func Origin(r *http.Request) *http.Request {
	if of, ok := r.Context().Value(cameAsKey{}).(*http.Request); ok {
		return of
	}
	return r
}

// identify returns the caller of a request.
func (s *Server) identify(r *http.Request) (access.Principal, error) {
	addr, _ := netip.ParseAddr(remote(r)) // the zero address is slowed down like others
	return s.identifyBy(r, func(ctx context.Context, text string) (access.Principal, error) {
		return s.opts.Keys.AuthenticateFrom(ctx, addr, text)
	})
}

// identifyAgain returns the caller, as it is now, of a request that was identified before. It is told of a revoked key also
// when its address has sent too many invalid ones: each page that is open with the key sends some.
func (s *Server) identifyAgain(r *http.Request) (access.Principal, error) {
	return s.identifyBy(r, func(ctx context.Context, text string) (access.Principal, error) {
		return s.opts.Keys.Authenticate(ctx, text)
	})
}

func (s *Server) identifyBy(r *http.Request, key func(ctx context.Context, text string) (access.Principal, error)) (access.Principal, error) {
	if s.opts.Authenticate != nil {
		return s.opts.Authenticate(Origin(r))
	}
	text, err := access.FromHeader(r.Header)
	if err != nil {
		if s.opts.Open && onLoopback(r.Context()) && errors.Is(err, access.ErrNoCredentials) {
			return access.Local(), nil
		}
		return access.Principal{}, err
	}
	return key(r.Context(), text)
}

// onLoopback reports whether a request came in on an address that only this machine reaches. Requests without an
// address come from this process.
func onLoopback(ctx context.Context) bool {
	at, ok := ctx.Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return !ok || at.IP.IsLoopback()
}

// keysInUse refuses what is about API keys where callers are known otherwise: a key would open nothing.
func (s *Server) keysInUse(context.Context) error {
	if s.opts.Authenticate == nil {
		return nil
	}
	return newProblem("keys_not_used", "this server has a login of its own, and accepts no API keys", "")
}
