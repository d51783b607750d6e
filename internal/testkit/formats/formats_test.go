package formats

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine/backup"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/internal/testkit/nodetest"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/pebblestore"
)

// contents tells what is in a store, as the program in make writes it.
type contents struct {
	Bulks []struct {
		Name, ID, State, First string
		Items, Fails, Ended    int
	}
	Key, Schedule, Webhook string
}

// unpack writes an archive to a directory.
func unpack(t *testing.T, archive string) (dir string, c contents) {
	t.Helper()
	dir = t.TempDir()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for in := tar.NewReader(zip); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(in)
		if err == nil {
			err = os.WriteFile(path, raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(filepath.Join(dir, "contents.json"))
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, c
}

// openStore opens the store of an archive that was unpacked.
func openStore(t *testing.T, dir string) *pebblestore.Store {
	t.Helper()
	s, err := pebblestore.Open(filepath.Join(dir, "store"), pebblestore.Options{
		Mode: pebblestore.Memory, Logger: slog.New(slog.DiscardHandler), Ballast: -1, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// archives lists the stores of all formats.
func archives(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/format*.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	for format := own.OldestFormat; format < own.StoredFormat; format++ {
		if !slices.Contains(all, filepath.Join("testdata", fmt.Sprintf("format%d.tar.gz", format))) {
			t.Errorf("no archive of format %d", format)
		}
	}
	return all
}

// endpoint is what the action calls now. It notes how often each item came.
type endpoint struct {
	mu   sync.Mutex
	came map[string]int // bulk action and item
}

// ServeHTTP answers a call as the endpoint of the former server did.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var call struct {
		Bulk  string `json:"bulk_action"`
		Items []struct{ ID string }
	}
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	failed := []map[string]string{}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, i := range call.Items {
		e.came[call.Bulk]++
		if strings.HasSuffix(i.ID, "7") {
			failed = append(failed, map[string]string{"id": i.ID, "status": "failed", "code": "closed"})
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"results": failed, "default": "done"})
}

const forEver = 99 * 365 * 24 * time.Hour // what has ended in the archives is long ago

// TestTheWorkOfEarlierVersionsIsEnded: this version opens the store that each format's version was killed with, shows what
// had ended, and ends the rest.
func TestTheWorkOfEarlierVersionsIsEnded(t *testing.T) {
	for _, archive := range archives(t) {
		t.Run(filepath.Base(archive), func(t *testing.T) {
			dir, c := unpack(t, archive)
			v, err := vault.LoadOrCreate(dir)
			if err != nil {
				t.Fatal(err)
			}
			s := openStore(t, dir)
			n := nodetest.Start(t, nodetest.Options{Store: s, Vault: v, Partitions: 4, KeepFor: forEver})
			wantMap(t, s, archive)
			wantIndex(t, n, &c)
			wantSettings(t, n, &c)
			e := &endpoint{came: map[string]int{}}
			web := httptest.NewServer(e)
			defer web.Close()
			n.Call("PUT", "/v1/actions/remind", `{"url":"`+web.URL+`","resource":"mail","secret":"[secret]","header":{"x-token":"[secret]"},"batch":50,
				"retry":{"max_attempts":200,"cap":"1s"}}`, 200, nil)
			for _, b := range c.Bulks {
				finish(t, n, b.ID, b.State)
			}
			for _, b := range c.Bulks {
				state := api.Completed
				got := n.Until(b.ID, state)
				if got.Counts.Done != int64(b.Items-b.Fails) || got.Counts.Failed != int64(b.Fails) {
					t.Errorf("%s has %+v, want %d failed of %d", b.Name, got.Counts, b.Fails, b.Items)
				}
				e.mu.Lock()
				if came, most := e.came[b.ID], b.Items-b.Ended; came > most || b.State != "running" && came != most {
					t.Errorf("%s: the endpoint got %d items, want the %d that had not ended", b.Name, came, most)
				}
				e.mu.Unlock()
			}
			wantIndex(t, n, &c)
			wantReports(t, n, &c)
		})
	}
}

// finish has a bulk action go on.
func finish(t *testing.T, n *nodetest.Node, id, state string) {
	t.Helper()
	switch state {
	case "sealed":
		n.Call("POST", "/v1/bulk-actions/"+id+"/start", "", 200, nil)
	case "paused":
		n.Call("POST", "/v1/bulk-actions/"+id+"/resume", "", 200, nil)
	}
}

// wantMap checks that the map has the number of this version's format, and says what was migrated.
func wantMap(t *testing.T, s store.Registry, archive string) {
	t.Helper()
	m, err := own.ReadMap(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if old := !strings.Contains(archive, fmt.Sprintf("format%d", own.StoredFormat)); old != (len(m.Migrated) == 1) || old && m.Migrated[0].To != own.StoredFormat {
		t.Errorf("the map says that it was migrated: %+v", m.Migrated)
	}
}

// wantIndex looks for the bulk actions by name, label and item.
func wantIndex(t *testing.T, n *nodetest.Node, c *contents) {
	t.Helper()
	for _, b := range c.Bulks {
		word, _, _ := strings.Cut(b.Name, " ")
		for _, query := range []string{"name=" + url.QueryEscape(b.Name), "name=" + strings.ToLower(word[:1]), "name=" + word + "&tenant=default"} {
			if !finds(n, "/v1/bulk-actions?"+query, b.ID) {
				t.Errorf("a list with %s does not have %s", query, b.Name)
			}
		}
		var found struct{ History []api.ItemResult }
		n.Call("POST", "/v1/items/lookup", `{"id":"`+b.First+`"}`, 200, &found)
		times := 0
		for _, r := range found.History {
			if r.BulkAction == b.ID {
				times++
			}
		}
		if times != 1 {
			t.Errorf("a lookup of %s finds it %d times in %s", b.First, times, b.Name)
		}
	}
	if !finds(n, "/v1/bulk-actions?label=team=growth&state=completed", c.Bulks[0].ID) {
		t.Errorf("a list by label and state does not have %s", c.Bulks[0].Name)
	}
}

// finds reports whether a list has a bulk action, once.
func finds(n *nodetest.Node, path, id string) bool {
	var list api.Page[api.BulkAction]
	n.Call("GET", path, "", 200, &list)
	times := 0
	for _, b := range list.Data {
		if b.ID == id {
			times++
		}
	}
	return times == 1
}

// wantSettings checks what is not work.
func wantSettings(t *testing.T, n *nodetest.Node, c *contents) {
	t.Helper()
	var who api.Whoami
	n.CallWith("GET", "/v1/whoami", "", http.Header{"Authorization": {"Bearer " + c.Key}}, 200, &who)
	if who.Name != "reader" {
		t.Errorf("the key is that of %q", who.Name)
	}
	var sched api.Schedule
	n.Call("GET", "/v1/schedules/"+c.Schedule, "", 200, &sched)
	if sched.Name != "every spring" || !sched.Paused || sched.BulkAction.Callback == nil {
		t.Errorf("the schedule is %+v", sched)
	}
	var hook api.Webhook
	n.Call("GET", "/v1/webhooks/"+c.Webhook, "", 200, &hook)
	var action api.Action
	n.Call("GET", "/v1/actions/remind", "", 200, &action)
	var test api.ConnectionResult
	n.Call("POST", "/v1/connections/warehouse/test", "{}", 200, &test)
	if len(hook.Events) != 1 || action.Batch != 50 || strings.Contains(test.Detail, "key") {
		t.Errorf("the webhook is %+v, the action %+v, and the test of the connection says %+v", hook, action, test)
	}
}

// wantReports reads the results of each bulk action.
func wantReports(t *testing.T, n *nodetest.Node, c *contents) {
	t.Helper()
	for _, b := range c.Bulks {
		var report string
		n.Call("GET", "/v1/bulk-actions/"+b.ID+"/results?format=ndjson&state=all", "", 200, &report)
		if lines := strings.Count(report, "\n"); lines != b.Items {
			t.Errorf("the results of %s have %d lines, want %d", b.Name, lines, b.Items)
		}
		if closed := strings.Count(report, `"closed"`); closed != b.Fails {
			t.Errorf("the results of %s have %d failed items, want %d", b.Name, closed, b.Fails)
		}
	}
}

// TestABackupOfAnEarlierFormatIsMigratedAfterItIsRestored: the copy has the format of the store, as the store was not
// opened by an engine.
func TestABackupOfAnEarlierFormatIsMigratedAfterItIsRestored(t *testing.T) {
	dir, c := unpack(t, fmt.Sprintf("testdata/format%d.tar.gz", own.OldestFormat))
	var file bytes.Buffer
	sum, err := backup.Write(t.Context(), openStore(t, dir), &file, "test")
	if err != nil || sum.Format != own.OldestFormat {
		t.Fatalf("the backup has format %d, %v, want that of the store", sum.Format, err)
	}
	s := openStore(t, t.TempDir())
	if _, err := backup.Restore(t.Context(), s, &file, backup.Options{Moved: true}); err != nil {
		t.Fatal(err)
	}
	v, err := vault.LoadOrCreate(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := nodetest.Start(t, nodetest.Options{Store: s, Vault: v, Partitions: 4, KeepFor: forEver})
	wantMap(t, s, "a backup")
	wantIndex(t, n, &c)
}
