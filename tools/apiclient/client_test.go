package apiclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const items = 250

func TestAGeneratedClientTakesABulkActionToItsReport(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	dir := t.TempDir()
	weir, walk, code := filepath.Join(dir, "weir"), filepath.Join(dir, "walk"), filepath.Join(dir, "client.gen.go")
	run(ctx, t, "../..", "go", "build", "-ldflags=-s", "-o", weir, "./cmd/weir")
	server := serve(ctx, t, weir, dir)

	document := filepath.Join(dir, "openapi.json")
	download(ctx, t, server+"/openapi-3.0.json", document)
	run(ctx, t, ".", "go", "tool", "oapi-codegen", "-config", "config.yaml", "-o", code, document)
	overlay := filepath.Join(dir, "overlay.json")
	here, err := filepath.Abs("weirapi/client.gen.go")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(map[string]any{"Replace": map[string]string{here: code}}) // the client is part of package weirapi, and not of this directory
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	run(ctx, t, ".", "go", "build", "-tags", "generated", "-overlay", overlay, "-o", walk, "./walk")

	endpoint := httptest.NewServer(http.HandlerFunc(award))
	defer endpoint.Close()
	var counts struct{ Total, Done, Failed int64 }
	out := run(ctx, t, ".", walk, server, endpoint.URL, "250")
	if err := json.Unmarshal(out, &counts); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if counts.Total != items || counts.Done != items-1 || counts.Failed != 1 {
		t.Errorf("report: %+v, want %d items, 1 of them failed", counts, items)
	}
}

// award is an HTTP action that fails one user.
func award(w http.ResponseWriter, r *http.Request) {
	var batch struct{ Items []struct{ ID string } }
	if err := json.NewDecoder(r.Body).Decode(&batch); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	results := []map[string]string{}
	for _, it := range batch.Items {
		one := map[string]string{"id": it.ID, "status": "done"}
		if it.ID == "user-7" {
			one["status"], one["code"] = "failed", "closed"
		}
		results = append(results, one)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"results": results}) // the server asks again
}

// serve starts a server that may call this machine, and returns its URL.
func serve(ctx context.Context, t *testing.T, weir, dir string) string {
	t.Helper()
	conf := filepath.Join(dir, "weir.yaml")
	if err := os.WriteFile(conf, []byte("egress: {allow: [127.0.0.1/32]}\nlog: {format: json}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), weir, "serve", "--config", conf, "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"))
	cmd.Dir = dir
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(log)
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		for lines.Scan() { // or it could not write its last words
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("weir serve: %v", err)
		}
	})
	var said []string
	for lines.Scan() {
		var line struct{ Msg, URL string }
		said = append(said, lines.Text())
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
			return line.URL
		}
	}
	t.Fatalf("weir serve did not start: %q", said)
	return ""
}

func download(ctx context.Context, t *testing.T, url, file string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v", url, resp.StatusCode, err)
	}
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs a program and returns what it writes.
func run(ctx context.Context, t *testing.T, dir, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(ctx, name, args...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, errs.String())
	}
	return out.Bytes()
}
