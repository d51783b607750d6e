package serve

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/config"
)

// TestAnActionOfTheFileCanBeUndone: undo_url works from weir.yaml as it does over the API.
func TestAnActionOfTheFileCanBeUndone(t *testing.T) {
	var undone atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("POST /award", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"default":"done"}`)) })
	mux.HandleFunc("POST /undo", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Items []json.RawMessage }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		undone.Add(int64(len(in.Items)))
		_, _ = w.Write([]byte(`{"default":"done"}`))
	})
	service := httptest.NewServer(mux)
	t.Cleanup(service.Close)
	dir := t.TempDir()
	file := filepath.Join(dir, "weir.yaml")
	text := strings.ReplaceAll("listen: 127.0.0.1:0\ndata: d\ndurability: memory\nlog: {format: text}\negress: {allow: [loopback]}\nactions:\n  award: {url: AT/award, undo_url: AT/undo}\n", "AT", service.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Source{Path: file, Dir: dir, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	h := open(t, c, nodeParts(false))
	defer h.stop(t)
	defer http.DefaultClient.CloseIdleConnections()
	cl, err := client.New(client.Options{Server: h.url(t)})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	made, err := cl.Create(ctx, api.NewBulkAction{Steps: []api.Step{{Action: "award"}}, Start: true, Items: []api.Item{{ID: "u1"}, {ID: "u2"}}})
	if err != nil {
		t.Fatal(err)
	}
	ends := func(id string) {
		for _, err := range cl.Watch(ctx, id) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	ends(made.ID)
	back, err := cl.Undo(ctx, made.ID, "test")
	if err != nil {
		t.Fatal(err)
	}
	ends(back.BulkActions[0].ID)
	if undone.Load() != 2 {
		t.Errorf("%d items were undone, want 2", undone.Load())
	}
}
