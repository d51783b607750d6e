package serve

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/clitest"
	"github.com/weirhq/weir/internal/testkit/testenv"
)

// eventsPage follows a bulk action as pages do, and tells when its EventSource has given up.
const eventsPage = `<!doctype html><script>
let ends = 0
const source = new EventSource('/v1/bulk-actions/%s/events')
source.addEventListener('end', () => { ends++ })
source.onerror = () => {
  if (source.readyState === EventSource.CLOSED) fetch('/closed?ends=' + ends, {method: 'POST'})
}
</script>`

// TestAnEventSourceEndsWithItsBulkAction: a browser connects again by itself after a stream has ended. It is told once
// that there is nothing more, and stays away.
func TestAnEventSourceEndsWithItsBulkAction(t *testing.T) {
	h := open(t, clitest.Settings(t, nil), nodeParts(false))
	server := h.url(t)
	defer h.stop(t)
	defer http.DefaultClient.CloseIdleConnections()
	cl, err := client.New(client.Options{Server: server})
	if err != nil {
		t.Fatal(err)
	}
	made, err := cl.Create(t.Context(), api.NewBulkAction{Steps: []api.Step{{Action: "demo.award"}}, Start: true, Items: []api.Item{{ID: "u1"}}})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var answers []int
	closed := make(chan string, 1)
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	through := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Header.Del("Origin") },
		FlushInterval: -1,
		ModifyResponse: func(r *http.Response) error {
			mu.Lock()
			defer mu.Unlock()
			if strings.HasSuffix(r.Request.URL.Path, "/events") {
				answers = append(answers, r.StatusCode)
			}
			return nil
		},
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", through)
	mux.HandleFunc("POST /closed", func(_ http.ResponseWriter, r *http.Request) { closed <- r.FormValue("ends") })
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, eventsPage, made.ID) // the test fails without it
	})
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	testenv.Browse(t, web.URL+"/", nil)
	select {
	case ends := <-closed:
		if ends != "1" {
			t.Errorf("the page saw %s ends, want 1", ends)
		}
	case <-ctx.Done():
		t.Error("the browser did not stop connecting")
	}
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(answers) != "[200 204]" {
		t.Errorf("the browser asked %d times and was answered %v, want once more than needed and 204", len(answers), answers)
	}
}
