package docstest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// snippets are the blocks of Go that are compiled, by page, with what stands before and after each. Those of README.md
// and docs/moving.md are in programs with tests of their own.
var snippets = map[string][]struct{ before, after string }{
	"docs/embedding.md": {
		{"func mount(ctx context.Context, store store.Store, mux *http.ServeMux, key []byte, award, message weir.Definer) {", "_, _ = srv, err\n}"},
		{"", ""},
	},
	"docs/cluster.md": {{"func cluster(ctx context.Context) {", "_, _ = store, err\n}"}},
	"docs/scaling.md": {{"func metrics(ctx context.Context, store store.Store) {", "}"}},
}

// around declares what the blocks use.
const around = `package snippets

import (
	"context"
	"net/http"
	"net/url"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/engine"
	"github.com/weirhq/weir/server"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/redisstore"
)

type user struct{ Email, Customer string }

type users struct{}

func (users) User(*http.Request) (user, bool) { return user{}, false }

var sessions users
`

// TestTheGoOfThePagesCompiles compiles all blocks of Go in one file.
func TestTheGoOfThePagesCompiles(t *testing.T) {
	var b strings.Builder
	b.WriteString(around)
	for page, parts := range snippets {
		_, rest, _ := strings.Cut(Read(t, page), "\n```go\n")
		for i, part := range parts {
			code, more, ok := strings.Cut(rest, "\n```")
			if !ok {
				t.Fatalf("%s has %d blocks of Go, want %d", page, i, len(parts))
			}
			fmt.Fprintf(&b, "\n%s\n//line %s:%d\n%s\n%s\n", part.before, page, i+1, code, part.after)
			_, rest, _ = strings.Cut(more, "\n```go\n")
		}
		if rest != "" {
			t.Errorf("%s has more than %d blocks of Go: add the others to snippets", page, len(parts))
		}
	}
	file := filepath.Join(t.TempDir(), "snippets.go")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", os.DevNull, file)
	cmd.Dir = Root(t)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go build of the blocks of Go: %v (the number after a page is that of its block)\n%s\n%s", err, out, &b)
	}
}
