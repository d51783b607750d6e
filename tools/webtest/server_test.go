package webtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// server is a process of weir serve, or of weir dev.
type server struct {
	t       *testing.T
	dir     string
	address string
	args    []string
	process *exec.Cmd
}

// serve starts a server on a free port of this machine, with a directory of its own.
func serve(t *testing.T, args ...string) *server {
	t.Helper()
	dir := t.TempDir()
	return begin(t, dir, append([]string{"serve", "--data", dir, "--egress-allow", "loopback"}, args...)...)
}

// begin starts a server by its command.
func begin(t *testing.T, dir string, args ...string) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, dir: dir, address: l.Addr().String(), args: args}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s.start()
	t.Cleanup(s.kill)
	return s
}

// start starts the process, and waits until it answers.
func (s *server) start() {
	s.t.Helper()
	s.process = exec.Command(weir, append(s.args, "--listen", s.address)...)
	var log bytes.Buffer
	s.process.Stderr, s.process.Stdout = &log, &log
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		resp, err := http.Get(s.url("/readyz"))
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Since(begun) > 2*time.Minute {
			s.t.Fatalf("the server does not answer: %v\n%s", err, log.String())
		}
	}
}

// kill ends the process as a crash does.
func (s *server) kill() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Signal(syscall.SIGKILL)
	_ = s.process.Wait() // it was killed
	s.process = nil
}

func (s *server) url(path string) string { return "http://" + s.address + path }

// call makes a request of the API, and fails unless it succeeds.
func (s *server) call(method, path, body string, out any) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url(path), strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	kind := "application/json"
	if strings.HasSuffix(path, "/items") {
		kind = "application/x-ndjson"
	}
	req.Header.Set("Content-Type", kind)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if resp.StatusCode >= 300 {
		s.t.Fatalf("%s %s: %s\n%s", method, path, resp.Status, raw)
	}
	if out != nil {
		if err := json.Unmarshal(raw, out); err != nil {
			s.t.Fatal(err)
		}
	}
}

// until waits until a bulk action is in a state.
func (s *server) until(id, state string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	for {
		var b struct{ State string }
		if s.call("GET", "/v1/bulk-actions/"+id, "", &b); b.State == state {
			return
		}
		select {
		case <-ctx.Done():
			s.t.Fatalf("%s is %s, not %s", id, b.State, state)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// downstream is a service that actions call. It keeps what it was sent, which is what reports are compared with.
type downstream struct {
	*httptest.Server
	mu   sync.Mutex
	done map[string]map[string]int // by path and item: how often it was done
	// fails says why an item is refused; empty: it is not.
	fails func(path, id string) string
}

// service starts a downstream.
func service(t *testing.T) *downstream {
	d := &downstream{done: map[string]map[string]int{}, fails: func(string, string) string { return "" }}
	d.Server = httptest.NewServer(http.HandlerFunc(d.answer))
	t.Cleanup(d.Close)
	return d
}

func (d *downstream) answer(w http.ResponseWriter, r *http.Request) {
	var in struct {
		DryRun bool `json:"dry_run"`
		Items  []struct {
			ID string `json:"id"`
		} `json:"items"`
	}
	if err := json.NewDecoder(bufio.NewReader(r.Body)).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	type result struct {
		ID     string `json:"id"`
		Status string `json:"status"`
		Code   string `json:"code,omitempty"`
		Error  string `json:"message,omitempty"`
	}
	out := struct {
		Results []result `json:"results"`
	}{}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done[r.URL.Path] == nil {
		d.done[r.URL.Path] = map[string]int{}
	}
	for _, it := range in.Items {
		if why := d.fails(r.URL.Path, it.ID); why != "" {
			out.Results = append(out.Results, result{it.ID, "failed", "rejected", why})
			continue
		}
		if !in.DryRun {
			d.done[r.URL.Path][it.ID]++
		}
		out.Results = append(out.Results, result{ID: it.ID, Status: "done"})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) // the server is gone
}

// set changes how it behaves.
func (d *downstream) set(change func(*downstream)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(d)
}

// httptestServer starts a server of this test, and returns its URL. Streams that are open do not hold up its end.
func httptestServer(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}
