package assembly_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// deadEnds are endpoints that do no work, each in its own way.
var deadEnds = []struct {
	name   string
	answer http.HandlerFunc // nil: nothing listens
	code   string
	says   string
}{
	{"nothing listens", nil, "unreachable", "connection refused"},
	{"it is broken", status(500, "database is down"), "http_5xx", "database is down"},
	{"a page instead of an answer", page, "bad_answer", "HTML"},
	{"an unknown answer", status(200, `{"ok":true}`), "bad_answer", "results"},
	{"the wrong address", status(404, "no such page"), "http_404", "no such page"},
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	_, _ = io.WriteString(w, "<html><body>Sign in</body></html>")
}

func TestADeadEndpointIsNamedEverywhere(t *testing.T) {
	for _, tt := range deadEnds {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			url := "http://" + unused(t)
			if tt.answer != nil {
				down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					calls.Add(1)
					tt.answer(w, r)
				}))
				t.Cleanup(down.Close)
				url = down.URL
			}
			log := &logLines{}
			n := nodetest.Start(t, nodetest.Options{Partitions: 8, Actions: []api.Action{{Name: "award", URL: url, Batch: 1}}, Logger: slog.New(slog.NewJSONHandler(log, nil))})
			b := n.Make(`{"steps":[{"action":"award"}],"item_id":"id"}`, rows(5000))
			n.Eventually("the bulk action names its last error", func() bool {
				n.Call("GET", "/v1/bulk-actions/"+b.ID, "", 200, &b)
				return b.LastError != nil
			})
			if e := b.LastError; e.Code != tt.code || !strings.Contains(e.Message, tt.says) || e.Count < 1 || e.Step != "award" {
				t.Errorf("last_error is %+v, want code %s and %q in its message", e, tt.code, tt.says)
			}
			p := firstProgress(t, n, b.ID, func(p *api.Progress) bool { return p.LastError != nil && len(p.WaitingOn) > 0 })
			if w := p.WaitingOn[0]; w.Reason != "failing" || !strings.Contains(w.Detail, tt.says) || w.Step != "award" {
				t.Errorf("waiting_on is %+v, want failing, with the error in its detail", p.WaitingOn)
			}
			if p.ETA != 0 {
				t.Errorf("the remaining time is said to be %v, and nothing ever succeeded", p.ETA)
			}
			n.Eventually("the log tells", func() bool { return log.count(engine.CallsFail) > 0 })
			if got := log.count(engine.CallsFail); got != 1 {
				t.Errorf("the log has %d lines of the one cause, want 1", got)
			}
			if got := calls.Load(); got > 8 { // one, and a few more where the test takes seconds
				t.Errorf("%d calls before one succeeded, want one that goes ahead", got)
			}
		})
	}
}

// mendable is an endpoint that is at the wrong address until works is true.
func mendable(t *testing.T, works *atomic.Bool) *httptest.Server {
	t.Helper()
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !works.Load() {
			http.NotFound(w, r)
			return
		}
		var in struct {
			Items []struct{ ID string }
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		var out bytes.Buffer
		for i, item := range in.Items {
			fmt.Fprintf(&out, "%s{\"id\":%q,\"status\":\"done\"}", strings.Repeat(",", min(i, 1)), item.ID)
		}
		fmt.Fprintf(w, `{"results":[%s]}`, &out)
	}))
	t.Cleanup(down.Close)
	return down
}

func TestAnEndpointThatWasWellIsNamedByAllThatUseIt(t *testing.T) {
	var works atomic.Bool
	works.Store(true)
	down := mendable(t, &works)
	n := nodetest.Start(t, nodetest.Options{Partitions: 1, Actions: []api.Action{{Name: "award", URL: down.URL, Batch: 10}}})
	const steps = `{"steps":[{"action":"award"}],"item_id":"id"}`
	n.Until(n.Make(steps, rows(20)).ID, api.Completed)
	works.Store(false)
	for _, name := range []string{"the first", "the second"} {
		b := n.Make(steps, rows(20))
		p := firstProgress(t, n, b.ID, func(p *api.Progress) bool { return p.LastError != nil && len(p.WaitingOn) > 0 })
		if w := p.WaitingOn[0]; w.Reason != "failing" || !strings.Contains(w.Detail, "404") {
			t.Errorf("%s waits on %+v, want failing, with 404 in its detail", name, p.WaitingOn)
		}
	}
	resource := func() (r api.ResourceStatus) { // empty until the node announces it
		resp := n.Request(t.Context(), "GET", "/v1/resources/award", "", nil)
		defer resp.Body.Close()
		_ = json.NewDecoder(resp.Body).Decode(&r) // then its fields are empty
		return r
	}
	n.Eventually("the resource names the error", func() bool {
		r := resource()
		return strings.Contains(r.Reason, "http_404") && r.Circuit != "closed"
	})
	works.Store(true)
	n.Eventually("it is well again", func() bool { return resource().Circuit == "closed" })
}

func TestABulkActionWithTheWrongAddressStopsAndGoesOnWhenItIsMended(t *testing.T) {
	var mended atomic.Bool
	down := mendable(t, &mended)
	n := nodetest.Start(t, nodetest.Options{Actions: []api.Action{{Name: "award", URL: down.URL, Batch: 10}}})
	b := n.Make(`{"steps":[{"action":"award"}],"item_id":"id"}`, rows(200))
	b = n.Until(b.ID, api.Stopped)
	if !strings.Contains(b.Reason, "404") || b.Counts.Done != 0 || b.Counts.Failed == b.Counts.Total {
		t.Errorf("it stopped with %+v because of %q, want 404 in the reason, and most of the items left to do", b.Counts, b.Reason)
	}
	mended.Store(true)
	n.Call("POST", "/v1/bulk-actions/"+b.ID+"/resume", "", 200, nil)
	b = n.Until(b.ID, api.Completed)
	if b.Counts.Done+b.Counts.Failed != 200 || b.Counts.Done < 100 {
		t.Errorf("it ended with %+v, want most of the items done", b.Counts)
	}
}

// unused is an address on loopback where nothing listens.
func unused(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func rows(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"id\":\"u%d\"}\n", i)
	}
	return b.String()
}

// firstProgress reads the events of a bulk action up to the first progress that holds.
func firstProgress(t *testing.T, n *nodetest.Node, id string, holds func(*api.Progress) bool) (p api.Progress) {
	t.Helper()
	resp := n.Request(t.Context(), "GET", "/v1/bulk-actions/"+id+"/events", "", nil)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if p = (api.Progress{}); ok && json.Unmarshal([]byte(data), &p) == nil && holds(&p) {
			return p
		}
	}
	t.Fatalf("the events of %s end before it holds: %v", id, lines.Err())
	return p
}

// logLines keeps a log.
type logLines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// count is the number of lines with a message.
func (l *logLines) count(message string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), fmt.Sprintf(`"msg":%q`, message))
}
