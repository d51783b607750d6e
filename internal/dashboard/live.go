package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// lookEvery is the time between two looks at what a page shows.
	lookEvery = 500 * time.Millisecond
	// beatEvery is how often a stream without news says that it is alive.
	beatEvery = 10 * time.Second
	// liveFor ends a stream: a browser opens another one, with the access that it has then.
	liveFor = 10 * time.Minute
)

// livePart is what the names of templates begin with whose output is pushed when it changes.
// The rest of the name is the id of the element that they render.
const livePart = "live-"

// live pushes the parts of a page that change, as server-sent events: one event for each part
// with its id and its HTML.
func (d *Dashboard) live(w http.ResponseWriter, r *http.Request) {
	of, err := url.Parse(r.URL.Query().Get("of"))
	if err != nil {
		http.Error(w, "of is not the path of a page", http.StatusBadRequest)
		return
	}
	to := strings.TrimPrefix(of.Path, d.opts.Prefix)
	if to == Root+"/live" {
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
	ctx, cancel := context.WithTimeout(r.Context(), liveFor)
	defer cancel()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // proxies pass events on at once
	s := stream{dashboard: d, page: p, request: r, out: w, sent: map[string]uint64{}}
	if err := s.run(ctx); err != nil && ctx.Err() == nil {
		d.log.Debug("a live page ended", "err", err)
	}
}

// stream is one page that a browser has open.
type stream struct {
	dashboard *Dashboard
	page      filled
	request   *http.Request
	out       http.ResponseWriter
	sent      map[string]uint64 // hash of each part as the browser has it
	quiet     time.Time         // of the last event
}

var seed = maphash.MakeSeed()

func (s *stream) run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for first := true; ; first = false {
		if err := s.look(ctx, first); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// look sends the parts that have changed. The first look only learns what the page had: it was
// rendered a moment ago.
func (s *stream) look(ctx context.Context, first bool) error {
	d := s.dashboard
	r := s.request.WithContext(ctx)
	v, err := d.visit(r)
	if err != nil {
		return err
	}
	c, err := s.page.fill(ctx, v)
	if err != nil {
		return errors.Join(err, s.send("failed", map[string]string{"text": err.Error()})) // the browser asks again later
	}
	f := d.frame(v, c)
	var news []map[string]string
	for _, t := range d.pages[s.page.name].Templates() {
		id, live := strings.CutPrefix(t.Name(), livePart)
		if !live {
			continue
		}
		var part bytes.Buffer
		if err := t.Execute(&part, f); err != nil {
			return fmt.Errorf("part %s: %w", id, err)
		}
		if sum := maphash.Bytes(seed, part.Bytes()); s.sent[id] != sum || first {
			s.sent[id] = sum
			news = append(news, map[string]string{"id": id, "html": part.String()})
		}
	}
	if len(news) > 0 {
		return s.send("parts", map[string]any{"title": f.Title, "parts": news})
	}
	if time.Since(s.quiet) > beatEvery {
		return s.send("beat", struct{}{})
	}
	return nil
}

// send writes one event.
func (s *stream) send(event string, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	control := http.NewResponseController(s.out)
	// A browser that takes nothing must not hold the stream for ever.
	if err := control.SetWriteDeadline(time.Now().Add(beatEvery)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := fmt.Fprintf(s.out, "event: %s\ndata: %s\n\n", event, raw); err != nil {
		return err
	}
	s.quiet = time.Now()
	return control.Flush()
}
