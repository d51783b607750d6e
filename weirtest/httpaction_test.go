package weirtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/cli/demo"
	"github.com/weirhq/weir/internal/edge/execute"
)

// failures is a test that may fail.
type failures struct {
	testing.TB
	texts []string
}

func (f *failures) Helper()                   {}
func (f *failures) Failed() bool              { return len(f.texts) > 0 }
func (f *failures) Errorf(s string, a ...any) { f.texts = append(f.texts, fmt.Sprintf(s, a...)) }
func (f *failures) Fatalf(s string, a ...any) { f.Errorf(s, a...); runtime.Goexit() }

// check runs a check against an endpoint and returns what it complains about.
func check(t *testing.T, h http.HandlerFunc, c HTTPCheck) string {
	t.Helper()
	srv := httptest.NewServer(h)
	defer srv.Close()
	if c.URL == "" {
		c.URL = srv.URL
	}
	f, ended := &failures{TB: t}, make(chan struct{})
	go func() {
		defer close(ended)
		c.Run(f)
	}()
	<-ended
	return strings.Join(f.texts, "\n")
}

// action is a small endpoint in the spirit of a user's.
type action struct {
	strict bool                               // refuses unknown fields
	output func(calls int, key string) string // of an item
	id     func(id string) string
	skip   int // leaves out results from this one on; 0: none
	secret string
	calls  int
}

func (a *action) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.calls++
	body, _ := io.ReadAll(r.Body)
	if a.secret != "" && execute.Verify(a.secret, r.Header, body, time.Now(), 5*time.Minute) != nil {
		http.Error(w, "bad signature", http.StatusUnauthorized)
		return
	}
	var in struct {
		Items []struct {
			ID  string `json:"id"`
			Key string `json:"idempotency_key"`
		} `json:"items"`
	}
	if err := json.Unmarshal(body, &in); err != nil || a.strict && strings.Contains(string(body), "unknown") {
		http.Error(w, "bad body", http.StatusBadRequest)
		return
	}
	results := []string{}
	for i, it := range in.Items {
		if a.skip > 0 && i >= a.skip {
			break
		}
		id, out := it.ID, it.Key
		if a.id != nil {
			id = a.id(id)
		}
		if a.output != nil {
			out = a.output(a.calls, it.Key)
		}
		results = append(results, fmt.Sprintf(`{"id":%q,"status":"done","output":{"x":%q}}`, id, out))
	}
	fmt.Fprintf(w, `{"results":[%s]}`, strings.Join(results, ","))
}

func TestGoodEndpointsPass(t *testing.T) {
	secret := newSecret()
	for name, c := range map[string]struct {
		endpoint http.Handler
		check    HTTPCheck
	}{
		"plain":              {&action{}, HTTPCheck{}},
		"verifies":           {&action{secret: secret}, HTTPCheck{Secret: secret, Item: json.RawMessage(`{"user_id":"u1"}`)}},
		"default only":       {reply(`{"default":"done"}`), HTTPCheck{}},
		"fails every item":   {reply(`{"default":"failed"}`), HTTPCheck{}},
		"asks to come later": {reply(`{"default":"retry"}`), HTTPCheck{}},
	} {
		if got := check(t, c.endpoint.ServeHTTP, c.check); got != "" {
			t.Errorf("%s: complains\n%s", name, got)
		}
	}
}

func TestDemoPasses(t *testing.T) {
	srv := httptest.NewServer(demo.Server(demo.Options{NoFaults: true}))
	defer srv.Close()
	CheckHTTPAction(t, srv.URL+"/award", json.RawMessage(`{"user_id":"u1","amount":5}`))
	CheckHTTPAction(t, srv.URL+"/message", nil)
}

func TestFaultsAreFound(t *testing.T) {
	secret := newSecret()
	for _, tt := range []struct {
		name     string
		endpoint http.Handler
		check    HTTPCheck
		want     string
	}{
		{
			"new answer for each call", &action{output: func(calls int, key string) string { return fmt.Sprint(key, calls) }},
			HTTPCheck{},
			`the same batch again: item 1 is done`,
		},
		{"key forgotten in another batch", &action{output: func(calls int, key string) string {
			if calls == 4 { // the batch of one
				return "new"
			}
			return key
		}}, HTTPCheck{}, "the same key in a batch of its own: item 2"},
		{"item left out", &action{skip: 2}, HTTPCheck{}, "item 3 of 3 has no result"},
		{"ids changed", &action{id: strings.ToUpper}, HTTPCheck{}, "3 results are for ids that were not in the call"},
		{"unknown fields refused", &action{strict: true}, HTTPCheck{}, "fields that are not documented: item 1 is failed http_4xx"},
		{"signature not verified", &action{}, HTTPCheck{Secret: secret}, "an unsigned call was answered with done"},
		{"another secret", &action{secret: newSecret()}, HTTPCheck{Secret: secret}, "answered 401"},
		{"refuses everything", status(422), HTTPCheck{}, "answered 422 Unprocessable Entity"},
		{"fails", status(500), HTTPCheck{}, "a call with 3 items: http_5xx"},
		{"busy", status(429), HTTPCheck{}, "refused: 429"},
		{"no JSON", reply("<title>Login</title>"), HTTPCheck{}, "answered HTML where JSON was expected: <title>Login"},
		{"wrong URL", &action{}, HTTPCheck{URL: "push.example.com"}, "url: scheme"},
		{"wrong secret", &action{}, HTTPCheck{Secret: "hunter2"}, "secret: is not whsec_"},
		{"item that is not JSON", &action{}, HTTPCheck{Item: json.RawMessage("{")}, "is not valid JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := check(t, tt.endpoint.ServeHTTP, tt.check); !strings.Contains(got, tt.want) {
				t.Errorf("complains %q, want %q", got, tt.want)
			}
		})
	}
}

func TestOldSignatureMustBeRefused(t *testing.T) {
	secret := newSecret()
	lenient := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if execute.Verify(secret, r.Header, body, time.Now(), 24*time.Hour) != nil {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, `{"default":"done"}`)
	}
	got := check(t, lenient, HTTPCheck{Secret: secret})
	if want := "a call signed an hour ago was answered with done"; !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
		t.Errorf("complains %q, want only %q", got, want)
	}
}

func reply(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}
