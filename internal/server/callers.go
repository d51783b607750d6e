package server

import (
	"context"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
)

const (
	// allowedEvery is how often it is checked that the caller of a stream or a download may still read it.
	allowedEvery = time.Second
	// allowedWithin bounds one check: a store that does not answer ends no stream.
	allowedWithin = 10 * time.Second
)

// callers shares the checks of keys between the streams, the live pages and the downloads of a key.
type callers struct {
	mu sync.Mutex
	of map[string]*streamCaller // by id of the key
}

// streamCaller is the caller of one or more streams, as the last check found it.
type streamCaller struct {
	streams int // and pages and downloads; of the mutex of callers

	mu  sync.Mutex
	at  time.Time // of the last check
	who access.Principal
	err error
}

// join returns the caller with a key, and what ends the use of it.
func (c *callers) join(key string) (*streamCaller, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.of[key]
	if of == nil {
		if c.of == nil {
			c.of = map[string]*streamCaller{}
		}
		of = &streamCaller{}
		c.of[key] = of
	}
	of.streams++
	return of, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if of.streams--; of.streams == 0 {
			delete(c.of, key)
		}
	}
}

// now returns the caller as it is now, from a check that is at most half of [allowedEvery] old.
func (c *streamCaller) now(ask func() (access.Principal, error)) (access.Principal, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.at) >= allowedEvery/2 {
		c.who, c.err = ask()
		c.at = time.Now()
	}
	return c.who, c.err
}

// current returns what tells who the caller of a request is now, and what ends the use of it. The request was authenticated
// with the key.
func (s *Server) current(r *http.Request, key string) (now func() (access.Principal, error), leave func()) {
	c, leave := &streamCaller{}, func() {}
	if s.opts.Authenticate == nil { // else a key may have several sign-ins, of which one has ended
		c, leave = s.callers.join(key)
	}
	return func() (access.Principal, error) {
		return c.now(func() (access.Principal, error) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), allowedWithin) // it is asked for the others, too
			defer cancel()
			return s.identifyAgain(r.WithContext(ctx))
		})
	}, leave
}

// refusedBy returns what refuses a caller, nil if that is not known now.
func (s *Server) refusedBy(ctx context.Context, err error) *problem {
	if p := problemOf(err); p.Status >= http.StatusInternalServerError || p.Status == http.StatusTooManyRequests {
		return nil
	}
	return s.problem(ctx, err)
}

// stillAllowed waits until the caller of a request may not read an answer about a tenant any more, and returns why; nil
// once ctx has ended. What cannot be checked now is checked again.
func (s *Server) stillAllowed(ctx context.Context, r *http.Request, tenant string) *problem {
	v := visitOf(ctx)
	now, leave := s.current(r, v.who.KeyID)
	defer leave()
	tick := time.NewTicker(allowedEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		who, err := now()
		if err == nil && !reflect.DeepEqual(who, v.who) {
			if err = who.Need(v.route.scope); err == nil && !who.Sees(tenant) {
				err = weir.ErrNotFound // as for a new request
			}
		}
		if err == nil {
			continue
		}
		if p := s.refusedBy(ctx, err); p != nil {
			return p
		}
	}
}

// Caller returns what tells who the caller of a live page or a download is now, and what ends the use of it. The caller of
// the request was who before; an error refuses it. It shares the checks of keys with the streams of the API.
func (s *Server) Caller(r *http.Request, who api.Whoami) (now func() (api.Whoami, error), leave func()) {
	ask, leave := s.current(r, who.Key)
	return func() (api.Whoami, error) {
		p, err := ask()
		if err == nil {
			return viewCaller(&p), nil
		}
		if refused := s.refusedBy(r.Context(), err); refused != nil {
			return api.Whoami{}, refused
		}
		return who, nil // it is not known: the next look tells
	}, leave
}
