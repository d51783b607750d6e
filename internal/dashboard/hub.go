package dashboard

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weirhq/weir/api"
)

const (
	// lookEvery is the shortest time between two looks at what a page shows, lookAtLeast the longest, and restAtLeast the
	// longest if nothing had changed at the last look.
	lookEvery   = 500 * time.Millisecond
	lookAtLeast = 10 * time.Second
	restAtLeast = 40 * time.Second
	// lookShare is the part of a core that all looks together may take: with more pages open, each is looked at less often.
	lookShare = 0.02
)

// hub holds the pages that browsers have open. Browsers with the same access and the same page share one look.
type hub struct {
	mu    sync.Mutex
	looks map[lookKey]*look
	// callers are who the keys of the streams belong to, by key.
	callers map[string]*caller
}

// caller is who a key belongs to, as the API said last.
type caller struct {
	mu  sync.Mutex
	at  time.Time // when it was asked
	who api.Whoami
	err error
}

// mostCallers is how many keys the hub holds before it forgets those that were not asked about lately.
const mostCallers = 1024

// caller returns who is asked for with a key.
func (h *hub) caller(key string) *caller {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.callers[key]
	if c == nil {
		if len(h.callers) >= mostCallers {
			clear(h.callers) // they are asked for again
		}
		c = &caller{}
		h.callers[key] = c
	}
	return c
}

// whoNow returns who is behind a request now. All streams with one key ask the API together, at most once in stillEvery.
func (d *Dashboard) whoNow(v *visit) (api.Whoami, error) {
	key := d.keyOf(v.Request)
	if key == "" {
		return v.api.WhoAmI(v.Context())
	}
	c := d.hub.caller(key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.at) >= stillEvery {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(v.Context()), beatEvery) // it is asked for the others, too
		defer cancel()
		who, err := v.api.WhoAmI(ctx)
		if err != nil && refusal(err) == nil {
			return who, err
		}
		c.who, c.err, c.at = who, err, now
	}
	return c.who, c.err
}

// errOther ends a stream whose page was opened with another key, or with other access, than the caller has now.
var errOther = errors.New("the access has changed")

// still returns an error if the person behind a page may not see it any more.
func (d *Dashboard) still(v *visit) error {
	if v.calls.keyed && d.keyOf(v.Request) == "" {
		return errOther // the session is over
	}
	if !v.calls.keyed && !d.opts.OwnLogin {
		return nil // there was no key that could be revoked
	}
	now, err := d.whoNow(v)
	switch refused := refusal(err); {
	case refused != nil && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden):
		return err
	case err != nil:
		return nil // not known: the next look tells
	case !reflect.DeepEqual(now, v.who):
		return errOther
	}
	return nil
}

// lookKey says which browsers see the same.
type lookKey struct{ who, host, page, zone string }

// look watches one page for all browsers that have it open.
type look struct {
	key      lookKey
	page     filled
	request  *http.Request // of the browser that came first
	cancel   context.CancelFunc
	browsers int // of the hub's mutex

	mu      sync.Mutex
	seen    seen
	changed chan struct{} // closed when seen is replaced
}

// seen is a page as it was at the last look.
type seen struct {
	title string
	parts []part
	err   error
}

// part is a live part of a page.
type part struct {
	id   string
	json string // what browsers are sent: written once for all of them
	hash uint64
}

// newPart returns a part as browsers are sent it.
func newPart(id string, html []byte) (part, error) {
	raw, err := json.Marshal(map[string]string{"id": id, "html": string(html)})
	return part{id, string(raw), maphash.Bytes(seed, html)}, err
}

// join returns the look at a page, and begins it if the browser is the first.
func (h *hub) join(d *Dashboard, p filled, v *visit) *look {
	r := v.Request
	key := lookKey{fmt.Sprintf("%q", []any{d.keyOf(r), v.who}), r.Host, r.URL.RequestURI(), v.clock.Zone.String()}
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.looks[key]
	if l == nil {
		ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
		l = &look{key: key, page: p, request: r.WithContext(ctx), cancel: cancel, changed: make(chan struct{})}
		h.looks[key] = l
		go l.run(ctx, d)
	}
	l.browsers++
	return l
}

// leave ends a look with its last browser.
func (h *hub) leave(l *look) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.browsers--; l.browsers == 0 {
		l.cancel()
		if h.looks[l.key] == l {
			delete(h.looks, l.key)
		}
	}
}

// drop takes a look that failed out: the next browser begins another one.
func (h *hub) drop(l *look) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.looks[l.key] == l {
		delete(h.looks, l.key)
	}
}

// pause returns how long to rest after a look that took this long, and at which something had changed or not.
func (h *hub) pause(took time.Duration, changed bool) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	rest := time.Duration(float64(took) * float64(len(h.looks)) / lookShare)
	most := restAtLeast
	if changed {
		most = lookAtLeast
	}
	return min(max(rest, lookEvery), most)
}

// newest returns the page as it was seen last, and a channel that is closed when it has changed.
func (l *look) newest() (seen, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen, l.changed
}

// last returns the page as it was seen last.
func (l *look) last() seen {
	now, _ := l.newest()
	return now
}

// run looks at the page until its last browser is gone, or it cannot be shown.
func (l *look) run(ctx context.Context, d *Dashboard) {
	for ctx.Err() == nil {
		began := time.Now()
		now := d.see(ctx, l)
		if ctx.Err() != nil {
			return
		}
		if refused := refusal(now.err); refused != nil && refused.Status == http.StatusTooManyRequests {
			now = l.last() // it shows what it has
		}
		changed := l.show(now)
		if now.err != nil {
			d.hub.drop(l)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(d.hub.pause(time.Since(began), changed)):
		}
	}
}

// show tells the browsers what is seen now, and reports whether it is something else than before.
func (l *look) show(now seen) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	same := func(a, b part) bool { return a.id == b.id && a.hash == b.hash }
	if now.err == nil && now.title == l.seen.title && slices.EqualFunc(now.parts, l.seen.parts, same) {
		return false
	}
	l.seen = now
	close(l.changed)
	l.changed = make(chan struct{})
	return true
}

var seed = maphash.MakeSeed()

// see renders the live parts of a page.
func (d *Dashboard) see(ctx context.Context, l *look) (now seen) {
	v, err := d.visitWith(l.request, d.keyOf(l.request))
	if err != nil {
		return seen{err: err}
	}
	if v.who, err = d.whoNow(v); err != nil {
		return seen{err: err}
	}
	v.calls.forget()
	c, err := l.page.content(ctx, v)
	if err != nil {
		return seen{err: err}
	}
	f := d.frame(v, c)
	now.title = f.Title
	for _, t := range d.pages[l.page.name].Templates() {
		id, live := strings.CutPrefix(t.Name(), livePart)
		if !live {
			continue
		}
		var out bytes.Buffer
		if err := t.Execute(&out, f); err != nil {
			return seen{err: fmt.Errorf("part %s: %w", id, err)}
		}
		p, err := newPart(id, out.Bytes())
		if err != nil {
			return seen{err: err}
		}
		now.parts = append(now.parts, p)
	}
	slices.SortFunc(now.parts, func(a, b part) int { return cmp.Compare(a.id, b.id) })
	return now
}
