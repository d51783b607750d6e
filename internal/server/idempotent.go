package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/records"
)

// remembered is a request that was made with an Idempotency-Key, and its answer.
type remembered struct {
	Digest string `json:"digest"` // of method, path and body
	// Fields tells which fields differ in another request with the same key.
	Fields map[string]string `json:"fields,omitempty"`
	Route  string            `json:"route"`
	Until  time.Time         `json:"until"` // when whoever does it is given up; zero: it is done
	By     string            `json:"by,omitempty"`
	At     time.Time         `json:"at"`
	// ID is what a create makes: made before anything else, so that doing it again makes the same.
	ID     string      `json:"id,omitempty"`
	Status int         `json:"status,omitempty"`
	Header http.Header `json:"header,omitempty"`
	Body   []byte      `json:"body,omitempty"`
}

const (
	doFor    = 30 * time.Second // how long a request may be under way before another may do it
	maxReply = 256 << 10        // answers that are longer are not kept
)

// checkKey says what is wrong with an Idempotency-Key.
func checkKey(key string, given bool) *problem {
	switch {
	case given && key == "":
		return newProblem("bad_idempotency_key", "it is empty", "leave the header out, or send 1 to 255 printable ASCII characters")
	case len(key) > 255:
		return newProblem("bad_idempotency_key", fmt.Sprintf("it has %d characters, more than 255", len(key)), "shorten it")
	}
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return newProblem("bad_idempotency_key", fmt.Sprintf("character %d is not printable ASCII", i+1), "use letters, digits and punctuation")
		}
	}
	return nil
}

// keyed does a request once, however often it comes with the same key.
func (s *Server) keyed(w *watched, r *http.Request, v *visit, next http.Handler) {
	values, given := r.Header["Idempotency-Key"]
	key := strings.Join(values, "")
	if p := checkKey(key, given); p != nil {
		s.refuse(w, v, p)
		return
	}
	if key == "" {
		next.ServeHTTP(w, r)
		return
	}
	digest, fields, first := digestOf(r, v), noted(r, v), false
	name := answerName(v.who.Tenants, key)
	e, err := s.answers.Put(r.Context(), name, func(m *remembered, found bool) error {
		switch {
		case found && m.Digest != digest:
			return conflict(key, m, fields)
		case found && m.Status != 0:
			return errAnswered
		case found && time.Now().Before(m.Until) && (m.By == s.life || !s.opts.Alone):
			return newProblem("in_progress", "the same request is being done", "ask again").after(time.Until(m.Until).Truncate(time.Second) + time.Second)
		}
		first, v.again = !found, found && !m.Until.IsZero()
		*m = remembered{Digest: digest, Fields: fields, Route: v.route.id, ID: m.ID, By: s.life, At: time.Now().UTC(), Until: time.Now().Add(doFor).UTC()}
		return nil
	})
	if errors.Is(err, errAnswered) {
		e, err = s.answers.Get(r.Context(), name)
		if err == nil {
			v.replayed = true
			replay(w, &e.Value)
			return
		}
	}
	if err != nil {
		s.refuse(w, v, s.problem(r.Context(), err))
		return
	}
	s.firstTime(w, r, v, name, first, next)
}

var errAnswered = errors.New("answered before")

// firstTime does the request and keeps the answer. One that failed on our side is
// not kept: it may be tried again. Of one that was refused nothing stays, so that
// the corrected request may use the key; unless it was tried before, and may have
// been done in part then.
func (s *Server) firstTime(w *watched, r *http.Request, v *visit, name string, first bool, next http.Handler) {
	v.idempotent = name
	rec := &recording{watched: w}
	next.ServeHTTP(rec, r)
	ctx := contextWithout(r)
	var err error
	switch {
	case first && w.status >= 400 && w.status < 500:
		err = s.answers.Delete(ctx, name)
	case w.status < 400 && !rec.long:
		_, err = s.answers.Update(ctx, name, func(m *remembered) error {
			m.Status, m.Body, m.Until = w.status, without(rec.body.Bytes(), v.route.once), time.Time{}
			m.Header = http.Header{}
			for _, h := range []string{"Content-Type", "Location", "ETag"} {
				if x := w.Header().Get(h); x != "" {
					m.Header.Set(h, x)
				}
			}
			return nil
		})
	default:
		_, err = s.answers.Update(ctx, name, func(m *remembered) error { m.Until = time.Time{}; return nil })
	}
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "answer not kept for repeats", slog.String("request_id", v.id), slog.Any("error", err))
	}
}

// without is an answer as it may be kept: what is shown once is in no store, and is
// not shown to whoever repeats the request either.
func without(body []byte, member string) []byte {
	if member == "" {
		return body
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(body, &all) != nil || all[member] == nil {
		return body
	}
	delete(all, member)
	all["left_out"] = json.RawMessage(strconv.Quote(member + ": it was in the first answer only"))
	kept, _ := json.Marshal(all) // it came from JSON
	return kept
}

// answerName is the record of an answer. Callers who see the same tenants share keys.
func answerName(tenants []string, key string) string {
	sorted := slices.Sorted(slices.Values(tenants))
	return hash(strings.Join(sorted, "\x00") + "\x00\x00" + key)
}

func replay(w http.ResponseWriter, m *remembered) {
	for k, values := range m.Header {
		w.Header()[k] = values
	}
	w.Header().Set("Idempotency-Replayed", "true")
	w.WriteHeader(m.Status)
	_, _ = w.Write(m.Body) // whoever asked is gone
}

// recording keeps a copy of what is answered.
type recording struct {
	*watched
	body bytes.Buffer
	long bool
}

// Write implements http.ResponseWriter.
func (w *recording) Write(b []byte) (int, error) {
	if w.body.Len()+len(b) > maxReply {
		w.long = true
	} else {
		w.body.Write(b)
	}
	return w.watched.Write(b)
}

func digestOf(r *http.Request, v *visit) string {
	return hash(r.Method + "\x00" + r.URL.Path + "\x00" + r.URL.RawQuery + "\x00" + string(v.raw))
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// answersTable is where answers are kept for repeats.
type answersTable = records.Table[remembered]

// Forget removes the answers to requests that were made before a time.
func (s *Server) Forget(ctx context.Context, before time.Time) error {
	for e, err := range s.answers.All(ctx, "") {
		if err != nil {
			return err
		}
		if e.Value.At.Before(before) {
			if err := s.answers.Delete(ctx, e.Name); err != nil && !errors.Is(err, weir.ErrNotFound) {
				return err
			}
		}
	}
	return nil
}
