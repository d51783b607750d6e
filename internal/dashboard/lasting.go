package dashboard

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/weirhq/weir/api"
)

// stillEvery is how often it is checked that the person behind a live page or a download may still see it.
const stillEvery = time.Second

// Reasons for the end of a live page or a download.
var (
	errSignedOut = errors.New("the session is over")
	errOther     = errors.New("the access has changed")
)

// openSession is a session with live pages or downloads.
type openSession struct {
	uses  int
	ended chan struct{} // closed when the person signs out
}

// enter notes a use of a session. The channel is closed when the person signs out; leave ends the use.
func (h *hub) enter(cookie string) (ended <-chan struct{}, leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[cookie]
	if s == nil {
		s = &openSession{ended: make(chan struct{})}
		h.sessions[cookie] = s
	}
	s.uses++
	return s.ended, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if s.uses--; s.uses == 0 && h.sessions[cookie] == s {
			delete(h.sessions, cookie)
		}
	}
}

// signOut ends the live pages and downloads of a session.
func (h *hub) signOut(cookie string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.sessions[cookie]; s != nil {
		close(s.ended)
		delete(h.sessions, cookie)
	}
}

// callerOf returns what tells who is behind a request now, and what ends the use of it.
func (d *Dashboard) callerOf(v *visit) (now func() (api.Whoami, error), leave func()) {
	r := v.WithContext(v.Context())
	r.Header = http.Header{} // what a browser sends is not for the API
	if key := d.keyOf(v.Request); key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return d.opts.Caller(r, v.who)
}

// whileAllowed returns a context that ends when the person behind a live page or a download may not see it any more: the key
// is revoked, the access is another, or the session is over. Its cause says which.
func (d *Dashboard) whileAllowed(ctx context.Context, v *visit) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	end := func() { cancel(context.Canceled) }
	if !v.calls.keyed && !d.opts.OwnLogin {
		return ctx, end // there was no key that could be revoked
	}
	var signedOut <-chan struct{}
	leaveSession := func() {}
	if cookie, err := v.Cookie(sessionCookie); err == nil && v.calls.keyed {
		signedOut, leaveSession = d.hub.enter(cookie.Value)
	}
	now, leave := d.callerOf(v)
	go func() {
		defer leave()
		defer leaveSession()
		tick := time.NewTicker(stillEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-signedOut:
				cancel(errSignedOut)
			case <-tick.C:
				if v.calls.keyed && d.keyOf(v.Request) == "" {
					cancel(errSignedOut) // it has lasted long enough
					return
				}
				switch who, err := now(); {
				case err != nil:
					cancel(err)
				case !sameCaller(&who, &v.who):
					cancel(errOther)
				}
			}
		}
	}()
	return ctx, end
}

// sameCaller reports whether two answers tell of the same access.
func sameCaller(a, b *api.Whoami) bool {
	return a.Key == b.Key && a.Name == b.Name && slices.Equal(a.Scopes, b.Scopes) && slices.Equal(a.Tenants, b.Tenants)
}

// cutWith has a browser that takes nothing not hold an answer longer than ctx.
func cutWith(ctx context.Context, w http.ResponseWriter) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now()) // a connection without deadlines is one of a test
	})
}
