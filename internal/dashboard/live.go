package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

const (
	// beatEvery is how often a stream without news says that it is alive.
	beatEvery = 10 * time.Second
	// liveFor ends a stream: a browser opens another one, with the access that it has then.
	liveFor = 10 * time.Minute
	// busyFor is how long a page rests if the node has as many live pages as it may.
	busyFor = 30 * time.Second
)

// livePart is what the names of templates begin with whose output is pushed when it changes.
// The rest of the name is the id of the element that they render.
const livePart = "live-"

// live pushes the parts of a page that change, as server-sent events.
func (d *Dashboard) live(w http.ResponseWriter, r *http.Request) { d.instead(w, r, d.push) }

// check answers with 204 if the page of a script can still be shown, and with a sentence that says why not otherwise: a
// script does not learn why a stream has failed. Without a page, it is about the server and the session.
func (d *Dashboard) check(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("of") == "" {
		v, err := d.visit(r)
		d.tell(w, v, err)
		return
	}
	d.instead(w, r, func(w http.ResponseWriter, r *http.Request, p filled) {
		v, err := d.visit(r)
		if err == nil {
			_, err = p.content(r.Context(), v)
		}
		d.tell(w, v, err)
	})
}

// tell answers a script.
func (d *Dashboard) tell(w http.ResponseWriter, v *visit, err error) {
	w.Header().Set("Cache-Control", "no-store")
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	status, p := d.reason(err)
	text := inSentences(p.Text, p.Fix)
	switch {
	case status != http.StatusUnauthorized || d.opts.OwnLogin:
	case d.keyOf(v.Request) == "":
		text = "The session has ended."
	default:
		text = "The key was revoked or has expired."
	}
	http.Error(w, text, status)
}

// instead does something else than to show the page that the parameter of names.
func (d *Dashboard) instead(w http.ResponseWriter, r *http.Request, do insteadOf) {
	of, err := url.Parse(r.URL.Query().Get("of"))
	if err != nil {
		http.Error(w, "of is not the path of a page", http.StatusBadRequest)
		return
	}
	to := strings.TrimPrefix(of.Path, d.opts.Prefix)
	if of.Host != "" || path.Clean(to) != strings.TrimSuffix(to, "/") || to == Root+"/live" || to == Root+"/check" || !strings.HasPrefix(to, Root+"/") {
		http.Error(w, "of is not the path of a page", http.StatusBadRequest)
		return
	}
	page := r.WithContext(context.WithValue(r.Context(), insteadKey{}, do))
	page.URL, page.RequestURI = &url.URL{Path: to, RawQuery: of.RawQuery}, of.RequestURI()
	d.mux.ServeHTTP(w, page)
}

// insteadOf is what is done with a page that is not shown itself.
type insteadOf func(http.ResponseWriter, *http.Request, filled)

// insteadKey is the key of an [insteadOf] in the context of a request.
type insteadKey struct{}

// push answers a request with the parts of a page, again and again.
func (d *Dashboard) push(w http.ResponseWriter, r *http.Request, p filled) {
	v, err := d.visit(r)
	if err != nil {
		d.fail(w, v, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), liveFor)
	defer cancel()
	ctx, leave := d.whileAllowed(ctx, v)
	defer leave()
	end, lost := func() {}, (<-chan struct{})(nil)
	if d.opts.Stream != nil {
		end, lost = d.opts.Stream(v.who.Key, v.who.Tenants)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // proxies pass events on at once
	s := stream{out: w, stop: d.opts.Stop, lost: lost, sent: map[string]uint64{}}
	if end == nil {
		_ = s.busy() // the browser is gone
		return
	}
	defer end()
	l := d.hub.join(d, p, v)
	defer d.hub.leave(l)
	if err := s.run(ctx, l); err != nil && r.Context().Err() == nil { // the script asks why
		d.log.Debug("a live page ended", "err", err)
	}
}

// stream is one page that a browser has open.
type stream struct {
	out  http.ResponseWriter
	stop <-chan struct{}   // the server shuts down
	lost <-chan struct{}   // closed when its place is given to another page
	sent map[string]uint64 // hash of each part as the browser has it
}

// busy says that the node has no place for the page, which keeps what it shows and tries again later.
func (s *stream) busy() error {
	return s.send("busy", map[string]int{"seconds": int(busyFor.Seconds())})
}

// run sends the parts of a page whenever they have changed. It sends all of them first: the page
// was rendered a moment ago, and may have changed since.
func (s *stream) run(ctx context.Context, l *look) error {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		seen, changed := l.newest()
		if seen.err != nil {
			return s.failed(seen.err)
		}
		var news []string
		for _, p := range seen.parts {
			if s.sent[p.id] != p.hash {
				s.sent[p.id] = p.hash
				news = append(news, p.json)
			}
		}
		if len(news) > 0 {
			title, err := json.Marshal(seen.title)
			if err != nil {
				return err
			}
			if err := s.write("parts", `{"title":`, string(title), `,"parts":[`, strings.Join(news, ","), `]}`); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			if why := context.Cause(ctx); !errors.Is(why, context.Canceled) && !errors.Is(why, context.DeadlineExceeded) {
				return s.failed(why) // not because the browser is gone, or after liveFor
			}
			return nil
		case <-s.stop:
			return nil
		case <-s.lost:
			return s.busy()
		case <-changed:
		case <-beat.C:
			if err := s.send("beat", struct{}{}); err != nil {
				return err
			}
		}
	}
}

// failed ends a stream. The script asks what a person has to know about it.
func (s *stream) failed(why error) error {
	return errors.Join(why, s.send("failed", struct{}{}))
}

// send writes one event.
func (s *stream) send(event string, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return s.write(event, string(raw))
}

// write writes one event, whose data is the JSON of some pieces.
func (s *stream) write(event string, data ...string) error {
	control := http.NewResponseController(s.out)
	// A browser that takes nothing must not hold the stream.
	if err := control.SetWriteDeadline(time.Now().Add(beatEvery)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	for _, piece := range slices.Concat([]string{"event: ", event, "\ndata: "}, data, []string{"\n\n"}) {
		if _, err := io.WriteString(s.out, piece); err != nil {
			return err
		}
	}
	return control.Flush()
}
