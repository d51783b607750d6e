package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// hostileBodies is how many are sent at once; WEIR_HOSTILE_BODIES makes it more. Each has 8 MiB.
const hostileBodies, hostileBytes = 100, 8 << 20

// hostileBody is a body that repeats a part.
type hostileBody struct{ method, path, kind, begin, part, end string }

var hostileKinds = []hostileBody{
	{"POST", "/v1/bulk-actions", "application/json", `{"items":[`, `{},`, `{}]}`},
	{"POST", "/v1/bulk-actions", "application/json", `{"items":[{"id":"1","data":[`, `{"":0},`, `{}]}]}`},
	{"POST", "/v1/bulk-actions", "application/json", `{"steps":[`, `0,`, `0]}`},
	{"POST", "/v1/bulk-actions", "application/json", `{"params":{"a":[`, `[],`, `[]]}}`},
	{"POST", "/v1/simulations", "application/json", `{"world":{"resources":[`, `{},`, `{}]}}`},
	{"POST", "/v1/simulations", "application/json", `{"world":{"bulk_actions":[`, `{},`, `{}]}}`},
	{"PUT", "/v1/actions/a", "application/json", `{"url":"https://a.test","schema":{"enum":[`, `{},`, `{}]}}`},
	{"POST", "/v1/keys", "application/json", `{"name":"`, `aaaaaaaa`, `"}`},
	{"POST", "/v1/bulk-actions/ba_00000000000000000000000000/items", "application/json", `[`, `{},`, `{}]`},
	{"POST", "/v1/bulk-actions/ba_00000000000000000000000000/items", "application/x-ndjson", ``, `{"id":[[[`, `1`},
}

// reader streams the body without holding it.
func (h *hostileBody) reader() io.Reader {
	n := (hostileBytes - len(h.begin) - len(h.end)) / len(h.part)
	block := strings.Repeat(h.part, 1024)
	parts := []io.Reader{strings.NewReader(h.begin)}
	for ; n >= 1024; n -= 1024 {
		parts = append(parts, strings.NewReader(block))
	}
	return io.MultiReader(append(parts, strings.NewReader(strings.Repeat(h.part, n)), strings.NewReader(h.end))...)
}

func (h *hostileBody) send(ctx context.Context, client *http.Client, url string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, h.method, url+h.path, h.reader())
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", h.kind)
	a, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	_, _ = io.Copy(io.Discard, a.Body) // the status is all that counts
	return a.StatusCode, a.Body.Close()
}

// TestHostileBodiesInParallelTakeBoundedMemory floods weir serve with bodies whose values take a hundred times
// their bytes. Its memory stays under 1 GiB, and other requests are answered meanwhile.
func TestHostileBodiesInParallelTakeBoundedMemory(t *testing.T) {
	count := hostileBodies
	if n, err := strconv.Atoi(os.Getenv("WEIR_HOSTILE_BODIES")); err == nil {
		count = n
	}
	url, memory := startServer(t, "--limits-requests-per-second", "1000000", "--limits-uploads", "10000")
	before := memory()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithCancel(t.Context())
	slowest := make(chan time.Duration, 1)
	go func() { slowest <- smallRequests(ctx, t, url) }()
	var mu sync.Mutex
	statuses := map[string]int{}
	var wg sync.WaitGroup
	for i := range count {
		wg.Go(func() {
			status, err := hostileKinds[i%len(hostileKinds)].send(t.Context(), client, url)
			mu.Lock()
			defer mu.Unlock()
			if err != nil { // refused before all was sent
				statuses["cut"]++
				return
			}
			statuses[strconv.Itoa(status)]++
		})
	}
	wg.Wait()
	cancel()
	t.Logf("%d bodies of 8 MiB: %v; peak of memory %d MiB, %d MiB before; slowest of the other requests %v", count, statuses, memory(), before, <-slowest)
	if got := memory(); got >= 1024 {
		t.Errorf("the server took %d MiB", got)
	}
	for status, n := range statuses {
		if status[0] == '2' || status == "500" {
			t.Errorf("%d of the bodies got %s", n, status)
		}
	}
}

// smallRequests makes small requests until ctx ends, wants all of them answered, and returns how long the slowest took.
func smallRequests(ctx context.Context, t *testing.T, url string) (slowest time.Duration) {
	client := &http.Client{Transport: &http.Transport{}, Timeout: 20 * time.Second}
	defer client.CloseIdleConnections()
	for i := 0; ctx.Err() == nil; i++ {
		for _, q := range []struct{ method, path, body string }{
			{"GET", "/v1/whoami", ""},
			{"POST", "/v1/bulk-actions", `{"steps":[{"action":"demo.award"}],"items":[{"id":"1"},{"id":"2"}]}`},
			{"PUT", "/v1/tenants/acme", fmt.Sprintf(`{"weight":%d}`, 1+i%10)},
		} {
			r, err := http.NewRequestWithContext(context.WithoutCancel(ctx), q.method, url+q.path, strings.NewReader(q.body))
			if err != nil {
				t.Error(err)
				return slowest
			}
			r.Header.Set("Content-Type", "application/json")
			began := time.Now()
			a, err := client.Do(r)
			if err != nil {
				t.Errorf("%s %s: %v", q.method, q.path, err)
				return slowest
			}
			raw, _ := io.ReadAll(a.Body) // shown only
			_ = a.Body.Close()
			slowest = max(slowest, time.Since(began))
			if a.StatusCode >= 300 {
				t.Errorf("%s %s: %d %s", q.method, q.path, a.StatusCode, raw)
			}
		}
	}
	return slowest
}

// startServer runs weir serve as a process of its own until the test ends. The function returns the peak of its memory in MiB.
func startServer(t *testing.T, args ...string) (url string, memory func() int) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "weir", append([]string{"serve", "--listen", "127.0.0.1:0", "--log-format", "json"}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	found, drained := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(drained)
		lines := bufio.NewReader(log)
		at := regexp.MustCompile(`"msg":"serving","url":"([^"]+)"`)
		for {
			line, err := lines.ReadBytes('\n')
			if m := at.FindSubmatch(line); m != nil {
				found <- string(m[1])
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be gone
		<-drained
		_ = cmd.Wait() // it was killed
	})
	select {
	case url = <-found:
	case <-drained:
		t.Fatal("the server ended")
	}
	return url, func() int { return peak(t, cmd.Process.Pid) }
}

// peak is the most memory that a process has had, in MiB.
func peak(t *testing.T, pid int) int {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(raw) {
		var kb int
		if n, _ := fmt.Sscanf(string(line), "VmHWM: %d kB", &kb); n == 1 {
			return kb >> 10
		}
	}
	t.Fatal("the system does not tell the peak of memory")
	return 0
}
