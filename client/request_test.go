package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
)

// world answers requests without a network, so that waiting takes no time in a bubble.
type world struct {
	answers []func(*http.Request) (*http.Response, error)
	keys    []string
	bodies  []string
	at      []time.Time
}

// RoundTrip implements http.RoundTripper: the last answer stays.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = string(raw)
	}
	w.keys, w.bodies, w.at = append(w.keys, r.Header.Get("Idempotency-Key")), append(w.bodies, body), append(w.at, time.Now())
	return w.answers[min(len(w.at), len(w.answers))-1](r)
}

func says(status int, kind, body string, header ...string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {kind}}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func refuses(status int, code string, header ...string) func(*http.Request) (*http.Response, error) {
	raw, _ := json.Marshal(api.Problem{Status: status, Code: code, Detail: "no", Fix: "do otherwise"})
	return says(status, "application/problem+json", string(raw), header...)
}

func cut(*http.Request) (*http.Response, error) { return nil, errors.New("connection reset by peer") }

var made = says(201, "application/json", `{"id":"ba_1","state":"draft"}`)

func newClient(t *testing.T, w *world) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{Server: "http://weir.test/", Key: "wk_secret", HTTP: &http.Client{Transport: w}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAPostIsRepeatedUnderOneKey(t *testing.T) {
	type answer = func(*http.Request) (*http.Response, error)
	for _, tt := range []struct {
		name    string
		answers []answer
		asked   int
		code    string // of the problem; empty: it succeeds
	}{
		{"at once", []answer{made}, 1, ""},
		{"after a cut", []answer{cut, made}, 2, ""},
		{"after a proxy without a server", []answer{says(502, "text/html", "<html>"), made}, 2, ""},
		{"after the store was away", []answer{refuses(503, "store_unavailable"), made}, 2, ""},
		{"after too many requests", []answer{refuses(429, "too_many_requests", "Retry-After", "7"), made}, 2, ""},
		{"while the first try is still being done", []answer{cut, refuses(409, "in_progress", "Retry-After", "3"), made}, 3, ""},
		{"not what is refused", []answer{refuses(422, "bad_value")}, 1, "bad_value"},
		{"not another conflict", []answer{refuses(409, "wrong_state")}, 1, "wrong_state"},
		{"not for ever", []answer{refuses(503, "draining")}, 5, "draining"},
		{"not after an hour", []answer{refuses(429, "backlog_full", "Retry-After", "3600")}, 1, "backlog_full"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{answers: tt.answers}
				b, err := newClient(t, w).Create(t.Context(), api.NewBulkAction{Name: "n"})
				if tt.code == "" && (err != nil || b.ID != "ba_1") || tt.code != "" && !client.IsCode(err, tt.code) {
					t.Fatalf("Create = %+v, %v; want code %q", b, err, tt.code)
				}
				if len(w.at) != tt.asked {
					t.Errorf("asked %d times, want %d", len(w.at), tt.asked)
				}
				for i := range w.keys {
					if w.keys[i] == "" || w.keys[i] != w.keys[0] || w.bodies[i] != w.bodies[0] {
						t.Errorf("try %d has key %q and body %q; the first had %q and %q", i+1, w.keys[i], w.bodies[i], w.keys[0], w.bodies[0])
					}
				}
			})
		})
	}
}

func TestTwoCallsHaveTwoKeysUnlessTheCallerGivesOne(t *testing.T) {
	w := &world{answers: []func(*http.Request) (*http.Response, error){made}}
	c := newClient(t, w)
	for _, ctx := range []context.Context{t.Context(), t.Context(), client.WithKey(t.Context(), "spring")} {
		if _, err := c.Create(ctx, api.NewBulkAction{}); err != nil {
			t.Fatal(err)
		}
	}
	if w.keys[0] == w.keys[1] || w.keys[2] != "spring" {
		t.Errorf("keys %q, want two different ones and spring", w.keys)
	}
}

func TestTheServerSaysHowLongToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{answers: []func(*http.Request) (*http.Response, error){refuses(429, "too_many_requests", "Retry-After", "7"), made}}
		if _, err := newClient(t, w).Create(t.Context(), api.NewBulkAction{}); err != nil {
			t.Fatal(err)
		}
		if got := w.at[1].Sub(w.at[0]); got != 7*time.Second {
			t.Errorf("asked again after %v, want 7s", got)
		}
	})
}

func TestAStreamedBodyIsSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{answers: []func(*http.Request) (*http.Response, error){cut, made}}
		_, err := newClient(t, w).Append(t.Context(), "ba_1", "text/csv", io.MultiReader(strings.NewReader("id\nu1\n")), "k")
		if away, ok := errors.AsType[*client.UnreachableError](err); !ok || away.Status != 0 || len(w.at) != 1 {
			t.Errorf("Append fails with %v after %d tries, want an UnreachableError after one", err, len(w.at))
		}
		w = &world{answers: []func(*http.Request) (*http.Response, error){cut, says(202, "application/json", `{"accepted":1}`)}}
		a, err := newClient(t, w).Append(t.Context(), "ba_1", "text/csv", strings.NewReader("id\nu1\n"), "k")
		if err != nil || a.Accepted != 1 || w.bodies[1] != "id\nu1\n" || w.keys[1] != "k" {
			t.Errorf("of a body that can be read again: %+v, %v, sent %q under %q", a, err, w.bodies, w.keys)
		}
	})
}

func TestWhatWentWrongIsAProblemOrNobodysAnswer(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer func(*http.Request) (*http.Response, error)
		code   string
		text   string
	}{
		{"a problem", refuses(404, "not_found"), "not_found", "no; do otherwise"},
		{"a page of something else", says(404, "text/html", "<html>hello"), "", "http://weir.test: answered Not Found: the answer is not weir's"},
		{"a text", says(400, "text/plain", "bad gateway line\nmore"), "", "http://weir.test: answered Bad Request: bad gateway line"},
		{"an answer that is no JSON", says(200, "application/json", "{"), "", "http://weir.test: the answer cannot be read: unexpected EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newClient(t, &world{answers: []func(*http.Request) (*http.Response, error){tt.answer}}).Get(t.Context(), "ba_1")
			p, isProblem := errors.AsType[*api.Problem](err)
			_, isAway := errors.AsType[*client.UnreachableError](err)
			if isProblem != (tt.code != "") || isAway == isProblem || isProblem && p.Code != tt.code || err.Error() != tt.text {
				t.Errorf("Get fails with %T %q, want code %q and %q", err, err, tt.code, tt.text)
			}
		})
	}
}

func TestADeleteThatWasHeardIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{answers: []func(*http.Request) (*http.Response, error){cut, refuses(404, "not_found")}}
		if err := newClient(t, w).Actions().Delete(t.Context(), "x"); err != nil {
			t.Errorf("the second try finds nothing: %v, want no error", err)
		}
		w = &world{answers: []func(*http.Request) (*http.Response, error){refuses(404, "not_found")}}
		if err := newClient(t, w).Actions().Delete(t.Context(), "x"); !client.IsCode(err, "not_found") {
			t.Errorf("the first try finds nothing: %v, want not_found", err)
		}
	})
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := newClient(t, &world{answers: []func(*http.Request) (*http.Response, error){refuses(503, "draining", "Retry-After", "20")}}).Get(ctx, "ba_1")
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("ended after %v with %v, want 1s and the deadline", time.Since(began), err)
		}
	})
}

func TestAnAddressHasToBeOne(t *testing.T) {
	for _, server := range []string{"", "weir.example.com", "ftp://x", "http://", "http://me:secret@host", "http://a b"} {
		if _, err := client.New(client.Options{Server: server}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("New(%q) = %v, want an error without a secret", server, err)
		}
	}
	if _, err := client.New(client.Options{Server: "http://host", Key: "a\nb"}); err == nil || strings.Contains(err.Error(), "a\nb") {
		t.Errorf("a key with a line feed: %v", err)
	}
}

func TestSomebodyElsesChangeIsNotOverwritten(t *testing.T) {
	tag, puts := `"1"`, 0
	w := &world{answers: []func(*http.Request) (*http.Response, error){func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet {
			return says(200, "application/json", `{"name":"growth","weight":2,"max_tasks":7}`, "ETag", tag)(r)
		}
		puts++
		if puts == 1 {
			tag = `"2"`
		}
		if r.Header.Get("If-Match") != tag {
			return refuses(412, "changed_meanwhile")(r)
		}
		return says(200, "application/json", `{"weight":3}`)(r)
	}}}
	got, err := newClient(t, w).Tenants().Change(t.Context(), "growth", func(x *api.Tenant) error { x.Weight = 3; return nil })
	if err != nil || got.Weight != 3 || puts != 2 {
		t.Fatalf("ChangeTenant = %+v, %v after %d puts", got, err, puts)
	}
	if want := `{"name":"growth","weight":3,"max_tasks":7}`; w.bodies[len(w.bodies)-1] != want {
		t.Errorf("put %s, want %s", w.bodies[len(w.bodies)-1], want)
	}
}
