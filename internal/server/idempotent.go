package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/records"
)

// maxReply is the most bytes of an answer that is kept.
const maxReply = 256 << 10

// idempotencyKey returns the Idempotency-Key of a request, empty if it has none, or says what is wrong with it.
func idempotencyKey(h http.Header) (string, *problem) {
	bad := func(what, fix string) (string, *problem) {
		return "", newProblem("bad_idempotency_key", "the header Idempotency-Key "+what, fix)
	}
	values := h["Idempotency-Key"]
	if len(values) == 0 {
		return "", nil
	}
	key := values[0]
	switch {
	case len(values) > 1:
		return bad(fmt.Sprintf("is there %d times", len(values)), "send it once")
	case key == "":
		return bad("is empty", "leave it out, or send 1 to 255 printable ASCII characters")
	case len(key) > 255:
		return bad(fmt.Sprintf("has %d characters, more than 255", len(key)), "shorten it")
	}
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return bad(fmt.Sprintf("has a character that is not printable ASCII, at position %d", i+1),
				"use letters, digits and punctuation")
		}
	}
	return key, nil
}

// keyed does a request once, however often it comes with the same key.
func (s *Server) keyed(w *watched, r *http.Request, v *visit, next http.Handler) {
	key, p := idempotencyKey(r.Header)
	if p != nil {
		s.refuse(w, v, p)
		return
	}
	if key == "" {
		next.ServeHTTP(w, r)
		return
	}
	name := answerName(v.who.Tenants, key)
	want := remembered{Digest: digestOf(r, v), Fields: noted(r, v), Route: v.route.id, At: time.Now().UTC()}
	c, err := s.take(r.Context(), name, key, want)
	if errors.Is(err, errAnswered) {
		var e records.Entry[remembered]
		if e, err = s.answers.Get(r.Context(), name); err == nil {
			v.replayed = true
			replay(w, &e.Value)
			return
		}
	}
	if err != nil {
		s.refuse(w, v, s.problem(r.Context(), err))
		return
	}
	s.tried(w, r, v, c, next)
}

// tried does the request and stores how it ended before it is answered: a repeat
// that follows the answer finds it.
//
// A success is kept. A failure on our side leaves the request undecided: a repeat
// goes on with it at once. A refusal releases the key, so that the corrected
// request may use it, if nothing was done and nothing can still be done: not if an
// earlier try was undecided, and not if this one had begun to work.
func (s *Server) tried(w *watched, r *http.Request, v *visit, c *attempt, next http.Handler) {
	defer s.working.end(c.nonce)
	v.idempotent, v.again, v.try = c.name, !c.first, c
	rec := &recording{watched: w}
	decided := func(*remembered) error { return nil } // also what a panic leaves
	defer func() {
		s.settle(contextWithout(r), c, decided)
		rec.send()
	}()
	next.ServeHTTP(rec, r)
	switch {
	case c.first && rec.status >= 400 && rec.status < 500 && !v.undecided:
		decided = func(*remembered) error { return errRelease }
	case rec.status < 400 && !rec.long:
		decided = rec.keep(v.route.once)
	}
}

// undecided reports whether a request that failed may have done something, or may
// still do it. After an id was reserved only a refusal rules that out.
func undecided(err error, begun bool) bool {
	var refusal *check.Refusal
	if errors.As(err, &refusal) && refusal.Code == "in_progress" || errors.Is(err, context.Canceled) {
		return true
	}
	var p *problem
	var scope *access.MissingScopeError
	return begun && !check.NothingDone(err) && !errors.As(err, &p) && !errors.As(err, &scope)
}

// without is an answer as it may be kept: what is shown once is in no store, and is
// not shown in a repeated response either.
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
	_, _ = w.Write(m.Body) // the client is gone
}

// recording holds an answer back until it is stored. One that is too long to be
// kept is sent as it comes.
type recording struct {
	*watched
	status int
	body   bytes.Buffer
	long   bool
}

// WriteHeader implements http.ResponseWriter.
func (w *recording) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write implements http.ResponseWriter.
func (w *recording) Write(b []byte) (int, error) {
	if !w.long && w.body.Len()+len(b) > maxReply {
		w.send()
		w.long = true
	}
	if w.long {
		return w.watched.Write(b)
	}
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

// Flush implements http.Flusher: nothing is sent before it is stored.
func (w *recording) Flush() {}

// send sends what was held back.
func (w *recording) send() {
	if w.long || w.status == 0 { // a panic is answered elsewhere
		return
	}
	w.watched.WriteHeader(w.status)
	_, _ = w.watched.Write(w.body.Bytes()) // the client may be gone
}

// keep stores the answer in the record.
func (w *recording) keep(once string) func(*remembered) error {
	return func(m *remembered) error {
		m.Status, m.Body, m.Header = w.status, without(w.body.Bytes(), once), http.Header{}
		for _, h := range []string{"Content-Type", "Location", "ETag"} {
			if x := w.Header().Get(h); x != "" {
				m.Header.Set(h, x)
			}
		}
		return nil
	}
}

func digestOf(r *http.Request, v *visit) string {
	return hash(r.Method + "\x00" + r.URL.Path + "\x00" + r.URL.RawQuery + "\x00" + string(v.raw))
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// answersTable is the table that keeps responses for repeats.
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
