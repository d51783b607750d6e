package main

import (
	"bufio"
	"encoding/json"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weirhq/weir/weirtest"
)

func TestTheActionKeepsTheContract(t *testing.T) {
	secret := newSecret()
	h, err := newWallet(secret)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	defer s.Close()
	weirtest.HTTPCheck{URL: s.URL + "/award", Item: json.RawMessage(`{"user_id":"u1"}`), Secret: secret}.Run(t)
}

// TestTheCampaignRunsOnARealServer starts weir serve as a process of its own.
func TestTheCampaignRunsOnARealServer(t *testing.T) {
	server := startServer(t)
	var out strings.Builder
	if err := run(t.Context(), server, "127.0.0.1:0", 2000, false, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		": 1980 done, 20 failed\n",
		"20 failed: closed: account u<n> is closed\n",
		`u1 is done: {"reward_id":"r-u1"}`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output has no %q:\n%s", want, out.String())
		}
	}
}

// startServer builds and starts a server on a free port, and stops it at the end.
func startServer(t *testing.T) (url string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "weir")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/weir").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd := exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--egress-allow", "loopback", "--log-format", "json")
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := <-ended; err != nil {
			t.Errorf("weir serve: %v", err)
		}
	})
	urls := make(chan string, 1)
	go func() {
		read(bufio.NewScanner(log), urls)
		ended <- cmd.Wait()
	}()
	url, ok := <-urls
	if !ok {
		t.Fatal("weir serve did not say where it listens")
	}
	return url
}

// read passes on the address from the log of a server, and reads the log to its end.
func read(lines *bufio.Scanner, urls chan<- string) {
	defer close(urls)
	for lines.Scan() {
		var line struct{ Msg, URL string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
			urls <- line.URL
		}
	}
}
