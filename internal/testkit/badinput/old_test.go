package badinput

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/assembly"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store/memstore"
)

// TestWhatWasRemovedIsToldWithItsDates is case 80. Time is made up: nothing else lets a bulk action grow old.
func TestWhatWasRemovedIsToldWithItsDates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask := startWithoutSocket(t)
		status, raw := ask("POST", "/v1/bulk-actions", `{`+steps+`,"items":[{"id":"a"}],"start":true}`)
		var b api.BulkAction
		if err := json.Unmarshal(raw, &b); err != nil || status != 201 {
			t.Fatalf("create: %d %s", status, raw)
		}
		time.Sleep(5 * time.Minute)
		status, raw = ask("GET", "/v1/bulk-actions/"+b.ID, "")
		var p api.Problem
		if err := json.Unmarshal(raw, &p); err != nil || status != 410 || p.Code != "expired" || !strings.Contains(p.Detail, "2000-01-01") {
			t.Errorf("answer %d %s, want 410 expired with the date", status, raw)
		}
	})
}

// startWithoutSocket starts a node that keeps things for a minute, and returns what asks it.
func startWithoutSocket(t *testing.T) func(method, path, body string) (int, []byte) {
	t.Helper()
	s := memstore.New(memstore.Options{})
	v, err := vault.New(vault.NewKey())
	must(t, err)
	log := slog.New(slog.DiscardHandler)
	n, e, err := assembly.Open(t.Context(), assembly.Options{
		Store: s, Guard: egress.New(egress.Policy{}), Vault: v, Open: true, Logger: log, Steps: []weir.Step{act("award", func() {})},
	}, engine.Options{Logger: log, Partitions: 1, KeepFor: time.Minute})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- e.Run(ctx) }()
	go func() { ended <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			must(t, <-ended)
		}
		_ = s.Close()
	})
	return func(method, path, body string) (int, []byte) {
		r := httptest.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(body))
		if body == "" {
			r.Body = http.NoBody
		} else {
			r.Header.Set("Content-Type", "application/json")
		}
		w := httptest.NewRecorder()
		n.Handler().ServeHTTP(w, r)
		return w.Code, w.Body.Bytes()
	}
}
