package dashboard

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"net/http"
	"regexp"
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
	// sessions are those with live pages or downloads, by their cookie.
	sessions map[string]*openSession
}

// lookKey says which browsers see the same.
type lookKey struct{ who, host, page, zone string }

// look watches one page for all browsers that have it open.
type look struct {
	key      lookKey
	page     filled
	request  *http.Request              // of the browser that came first
	who      func() (api.Whoami, error) // is behind it now
	cancel   func()
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

// onceValue finds the keys by which forms that are sent twice do their work once.
var onceValue = regexp.MustCompile(`(<input type="hidden" name="once" value=")[^"]*`)

// newPart returns a part as browsers are sent it. Its forms have no keys: many browsers get the same part, and each has
// its own keys.
func newPart(id string, html []byte) (part, error) {
	html = onceValue.ReplaceAll(html, []byte("$1"))
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
		who, leave := d.callerOf(v)
		l = &look{key: key, page: p, request: r.WithContext(ctx), who: who, changed: make(chan struct{}), cancel: func() { cancel(); leave() }}
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
	if v.who, err = l.who(); err != nil {
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
