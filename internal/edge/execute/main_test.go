package execute

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newTask is a task of n items with ids u1, u2, …
func newTask(n int) *weir.Task {
	t := &weir.Task{
		ID: "tsk_7", Bulk: "ba_01k9x", Tenant: "growth", Step: "award", StepNo: 1, Action: "award-reward", Attempt: 2,
		Items: make([]weir.TaskItem, n), Outcomes: make([]weir.Outcome, n),
	}
	for i := range t.Items {
		t.Items[i] = weir.TaskItem{No: int64(i) + 40, ID: fmt.Sprintf("u%d", i+1), Data: fmt.Appendf(nil, `{"n":%d}`, i+1)}
	}
	return t
}

// remote is an endpoint on loopback and the handler that calls it.
type remote struct {
	call     weir.Handler
	counters *Counters
}

// serve starts an endpoint; change may alter the step that calls it.
func serve(t testing.TB, h http.HandlerFunc, change func(*weir.Step)) remote {
	t.Helper()
	srv := httptest.NewServer(h)
	transport := NewTransport()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		srv.Close()
	})
	step := weir.Step{Name: "award", Timeout: 20 * time.Second, Endpoint: &weir.Endpoint{URL: srv.URL + "/award"}}
	if change != nil {
		change(&step)
	}
	r := remote{counters: &Counters{}}
	call, err := HTTP(step, HTTPOptions{Transport: transport, Counters: r.counters, Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatalf("HTTP(%+v) = %v", step.Endpoint, err)
	}
	r.call = call
	return r
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// say answers every call with a status and a body.
func say(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func kinds(t *weir.Task) string {
	s := ""
	for _, o := range t.Outcomes {
		s += o.Kind.String() + " "
	}
	return s
}

func run(t *testing.T, r remote, task *weir.Task) error {
	t.Helper()
	return r.call(context.Background(), task)
}
