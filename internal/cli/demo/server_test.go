package demo

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/execute"
)

// endpoints starts the server and returns the handlers that call it.
func endpoints(t *testing.T, o Options) (award, message weir.Handler) {
	t.Helper()
	srv := httptest.NewServer(Server(o))
	transport := execute.NewTransport()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		srv.Close()
	})
	call := func(path string) weir.Handler {
		h, err := execute.HTTP(weir.Step{Endpoint: &weir.Endpoint{URL: srv.URL + path}}, execute.HTTPOptions{Transport: transport})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	return call("/award"), call("/message")
}

func TestServerAnswersAsTheHandlersDo(t *testing.T) {
	o := Options{NoLatency: true}
	award, message := endpoints(t, o)
	for i, call := range []weir.Handler{award, message} {
		direct, remote := task(0, 4000, 1), task(0, 4000, 1)
		for _, tk := range []*weir.Task{direct, remote} {
			tk.Items[5].Previous = []byte(`{"reward_id":"r-1"}`)
		}
		if err := Actions(o)[i].Handle(context.Background(), direct); err != nil {
			t.Fatal(err)
		}
		if err := call(context.Background(), remote); err != nil {
			t.Fatal(err)
		}
		for j, want := range direct.Outcomes {
			got := remote.Outcomes[j]
			if got.Kind != want.Kind || got.Code != want.Code || got.Message != want.Message || got.After != want.After || string(got.Output) != string(want.Output) {
				t.Fatalf("item %d over HTTP = %+v, want %+v", j, got, want)
			}
		}
	}
}

func TestServerIsUnpleasantNowAndThen(t *testing.T) {
	award, _ := endpoints(t, Options{NoLatency: true})
	refused, half := 0, 0
	for range 200 {
		tk := task(0, 10, 2)
		err := award(context.Background(), tk)
		if r, ok := weir.AsRefused(err); ok && r.After == time.Second {
			refused++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if tk.Outcomes[4].Kind != weir.OutcomeNone && tk.Outcomes[5].Kind == weir.OutcomeNone {
			half++
		}
	}
	if refused != 1 || half != 4 {
		t.Errorf("of 200 calls %d refused and %d answered by half, want 1 and 4", refused, half)
	}
}

func TestServerRefusesWhatIsNoCall(t *testing.T) {
	for _, tt := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "/award", "no JSON", 400},
		{"POST", "/award", `{"items":[]}`, 200},
		{"GET", "/award", "", 405},
		{"POST", "/", "", 404},
	} {
		w := httptest.NewRecorder()
		r, err := http.NewRequest(tt.method, tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		if Server(Options{}).ServeHTTP(w, r); w.Code != tt.want {
			t.Errorf("%s %s %q = %d, want %d", tt.method, tt.path, tt.body, w.Code, tt.want)
		}
	}
}
