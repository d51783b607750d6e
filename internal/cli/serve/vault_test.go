package serve

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/cli/clitest"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/service/vault"
)

// TestAMissingVaultKeyIsNotReplaced seals the secret of an action, and takes the key away.
func TestAMissingVaultKeyIsNotReplaced(t *testing.T) {
	c := clitest.Settings(t, nil)
	file := filepath.Join(c.Data, vault.FileName)
	h := open(t, c, nodeParts(false))
	r, err := http.NewRequest(http.MethodPut, h.url(t)+"/v1/actions/award",
		strings.NewReader(`{"url":"https://example.com/","secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(a.Body) // what is missing shows
	if a.Body.Close(); a.StatusCode > 299 {
		t.Fatalf("the action is answered with %s %s", a.Status, text)
	}
	http.DefaultClient.CloseIdleConnections()
	h.stop(t)
	key, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		do   func() error
	}{
		{"gone", func() error { return os.Remove(file) }},
		{"another", func() error { _, err := vault.LoadOrCreate(c.Data); return err }},
	} {
		if err := tt.do(); err != nil {
			t.Fatal(err)
		}
		f, told := errors.AsType[*command.Failure](<-open(t, c, nodeParts(false)).over)
		if !told || !strings.Contains(f.What, "encrypted with key") || !strings.Contains(f.Fix, file) || !strings.Contains(f.Fix, "--accept-loss") {
			t.Errorf("a server whose key is %s ends with %+v, want it said", tt.name, f)
		}
	}
	if err := os.WriteFile(file, key, 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, c, nodeParts(false)).stop(t)
}
