package serve

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/cli/clitest"
	"github.com/weirhq/weir/internal/testkit/testenv"
)

// TestReadyzChecksWhatASubmitNeeds runs a server on a Redis that stops taking writes, and that is emptied.
func TestReadyzChecksWhatASubmitNeeds(t *testing.T) {
	r := testenv.Redis(t)
	key := filepath.Join(t.TempDir(), "vault.key")
	if err := os.WriteFile(key, []byte(strings.Repeat("ab", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := clitest.Settings(t, map[string]string{"redis": "redis://" + r.Addr, "vault_key_file": key, "lease": "1s"})
	h := open(t, c, nodeParts(false))
	at := h.url(t)
	readyWhen(t, at, http.StatusOK, "")
	r.Do("CONFIG", "SET", "maxmemory", "1")
	readyWhen(t, at, http.StatusServiceUnavailable, "OOM")
	r.Do("CONFIG", "SET", "maxmemory", "0")
	readyWhen(t, at, http.StatusOK, "")
	h.stop(t)
	http.DefaultClient.CloseIdleConnections()
}

// readyWhen waits until a server answers /readyz with a status, and a problem that has a text.
func readyWhen(t *testing.T, at string, status int, text string) {
	t.Helper()
	for began := time.Now(); ; <-time.After(50 * time.Millisecond) {
		a, err := http.Get(at + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		var got api.Health
		err = json.NewDecoder(a.Body).Decode(&got)
		if a.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if a.StatusCode == status && strings.Contains(strings.Join(got.Problems, "; "), text) {
			return
		}
		if time.Since(began) > 60*time.Second {
			t.Fatalf("/readyz is %s with %q, want %d with %q", a.Status, got.Problems, status, text)
		}
	}
}
