package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
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
func (d *Dashboard) live(w http.ResponseWriter, r *http.Request) {
	of, err := url.Parse(r.URL.Query().Get("of"))
	if err != nil {
		http.Error(w, "of is not the path of a page", http.StatusBadRequest)
		return
	}
	to := strings.TrimPrefix(of.Path, d.opts.Prefix)
	if to == Root+"/live" || !strings.HasPrefix(to, Root+"/") {
		http.Error(w, "of is not the path of a page", http.StatusBadRequest)
		return
	}
	page := r.WithContext(context.WithValue(r.Context(), liveKey{}, true))
	page.URL, page.RequestURI = &url.URL{Path: to, RawQuery: of.RawQuery}, of.RequestURI()
	d.mux.ServeHTTP(w, page)
}

// liveKey marks the request for a page whose parts are pushed, instead of the page itself.
type liveKey struct{}

// push answers a request with the parts of a page, again and again.
func (d *Dashboard) push(w http.ResponseWriter, r *http.Request, p filled) {
	v, err := d.visit(r)
	if err != nil {
		d.fail(w, v, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), liveFor)
	defer cancel()
	end := func() {}
	if d.opts.Stream != nil {
		end = d.opts.Stream()
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // proxies pass events on at once
	s := stream{out: w, stop: d.opts.Stop, sent: map[string]uint64{}}
	if end == nil { // the page keeps what it shows, and tries again later
		_ = s.send("busy", map[string]int{"seconds": int(busyFor.Seconds())}) // the browser is gone
		return
	}
	defer end()
	l := d.hub.join(d, p, v)
	defer d.hub.leave(l)
	if err := s.run(ctx, l); err != nil && ctx.Err() == nil {
		d.log.Debug("a live page ended", "err", err)
	}
}

// stream is one page that a browser has open.
type stream struct {
	out  http.ResponseWriter
	stop <-chan struct{}   // the server shuts down
	sent map[string]uint64 // hash of each part as the browser has it
}

// run sends the parts of a page whenever they have changed. It sends all of them first: the page
// was rendered a moment ago, and may have changed since.
func (s *stream) run(ctx context.Context, l *look) error {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		seen, changed := l.newest()
		if seen.err != nil {
			return errors.Join(seen.err, s.send("failed", map[string]string{"text": seen.err.Error()})) // the browser asks again later
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
			return ctx.Err()
		case <-s.stop:
			return nil
		case <-changed:
		case <-beat.C:
			if err := s.send("beat", struct{}{}); err != nil {
				return err
			}
		}
	}
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
