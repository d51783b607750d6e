package testenv

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
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
	cmd := exec.CommandContext(lasting(t), cmp.Or(os.Getenv("WEIR_CHROMIUM"), "chromium"),
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server",
		"--user-data-dir="+filepath.Join(home, "profile"), "--remote-debugging-port=0", "--host-resolver-rules="+rules, url)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	endAsGroup(cmd)
	gone := run(t, cmd)
	t.Cleanup(func() {
		killGroup(cmd)
		<-gone
		if t.Failed() {
			t.Logf("chromium: %s", log.Bytes()[max(0, log.Len()-4096):])
		}
	})
}
