package badinput

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store/memstore"
)

// answers of endpoints that make no sense, and the errors they lead to.
var answers = map[string]struct {
	status     int
	body, told string
}{
	"login":   {200, "<html><head><title>Login</title>", "answered HTML where JSON was expected: <title>Login"},
	"text":    {200, "OK", "answered no JSON object"},
	"nan":     {200, `{"results":[{"id":"a","status":"retry","retry_after":NaN}]}`, "answer is broken"},
	"twice":   {200, `{"results":[{"id":"a","status":"done"},{"id":"a","status":"done"}]}`, "id has a result already"},
	"wrong":   {200, `{"results":{"a":"done"}}`, "answer is broken"},
	"large":   {200, `{"results":[]` + strings.Repeat(" ", 9<<20) + `}`, "larger than 8 MiB"},
	"moved":   {302, "", "redirects are not followed"},
	"nothing": {204, "", "answered 204 No Content where JSON was expected"},
}

// TestItemsOfAnEndpointThatAnswersNonsenseFail is case 98: tasks are tried again, and then their items fail.
func TestItemsOfAnEndpointThatAnswersNonsenseFail(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := answers[strings.TrimPrefix(r.URL.Path, "/")]
		w.Header().Set("Location", "/login")
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body) // the caller tells
	}))
	t.Cleanup(web.Close)
	store := memstore.New(memstore.Options{})
	t.Cleanup(func() { _ = store.Close() })
	e, err := engine.Open(t.Context(), store, engine.Options{Partitions: 1, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	chains := map[string]weir.Chain[json.RawMessage, json.RawMessage]{}
	for name := range answers {
		chains[name] = weir.Start(weir.HTTPAction[json.RawMessage, json.RawMessage]{
			Name: name, URL: web.URL + "/" + name, Retry: weir.Backoff{MaxAttempts: 2, Base: time.Millisecond, Cap: time.Millisecond},
		}.Action())
		must(t, e.Handle(chains[name]))
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	t.Cleanup(func() { cancel(); must(t, <-ended) })
	for name, a := range answers {
		t.Run(name, func(t *testing.T) {
			b, err := engine.Submit(t.Context(), e, chains[name], engine.Items([]weir.Item[json.RawMessage]{{ID: "a", Value: json.RawMessage("{}")}}), weir.Spec{})
			must(t, err)
			rep, err := b.Wait(t.Context())
			must(t, err)
			for row, err := range rep.Rows(t.Context()) {
				must(t, err)
				if row.Code != "bad_answer" || row.Attempts != 2 || !strings.Contains(row.Message, a.told) {
					t.Errorf("item ended %s %s after %d attempts: %s\nwant bad_answer after 2: %s", row.State, row.Code, row.Attempts, row.Message, a.told)
				}
			}
		})
	}
}
