package main

import (
	"bufio"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestTheCampaignRunsOnARealServer starts weir serve and the action as processes of their own.
func TestTheCampaignRunsOnARealServer(t *testing.T) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	server := start(t, "../../cmd/weir", regexp.MustCompile(`"msg":"serving".*"url":"([^"]+)"`),
		"serve", "--listen", "127.0.0.1:0", "--data", t.TempDir(), "--egress-allow", "loopback", "--log-format", "json")
	action := start(t, "../webhook", regexp.MustCompile(`(http://\S+/award)`), "-listen", "127.0.0.1:0", "-secret", secret)
	var out strings.Builder
	if err := run(t.Context(), server, action, secret, 2000, &out); err != nil {
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

// start builds a program and runs it until the test ends. It returns the URL that the program prints, which is the
// first group of the pattern.
func start(t *testing.T, dir string, url *regexp.Regexp, args ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	if out, err := exec.Command("go", "build", "-ldflags=-s", "-o", program, dir).CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", dir, err, out)
	}
	in, out := io.Pipe()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil && cmd.ProcessState.Exited() { // a program without a handler does not exit, but is killed
			t.Errorf("%s: %v", dir, err)
		}
		_ = out.Close()
	})
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if found := url.FindStringSubmatch(lines.Text()); found != nil {
			go func() { _, _ = io.Copy(io.Discard, in) }()
			return found[1]
		}
	}
	t.Fatalf("%s did not say where it listens", dir)
	return ""
}
