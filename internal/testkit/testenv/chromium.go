package testenv

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Browse opens a page in a real Chromium without a window, which ends with the
// test. The page tells the test what it found by requests to a server of the
// test. Names maps host names to addresses, as a name server would; other names
// do not resolve.
func Browse(t testing.TB, url string, names map[string]string) {
	t.Helper()
	rules := "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
	for name, address := range names {
		rules = "MAP " + name + " " + address + ", " + rules
	}
	home := t.TempDir()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), cmp.Or(os.Getenv("WEIR_CHROMIUM"), "chromium"), // ended below
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server",
		"--user-data-dir="+filepath.Join(home, "profile"), "--remote-debugging-port=0", "--host-resolver-rules="+rules, url)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	endAsGroup(cmd)
	started, gone := make(chan error), make(chan struct{})
	go func() {
		defer close(gone)
		runtime.LockOSThread() // the system ends the browser together with the thread that started it
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // it is killed
		}
	}()
	if err := <-started; err != nil {
		t.Fatalf("chromium does not start: %v (make deps installs it)", err)
	}
	t.Cleanup(func() {
		killGroup(cmd)
		<-gone
		if t.Failed() {
			t.Logf("chromium: %s", log.Bytes()[max(0, log.Len()-4096):])
		}
	})
}
