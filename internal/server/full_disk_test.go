package server_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
	"github.com/weirhq/weir/store/pebblestore"
)

// smallDisk is a disk of ten gigabytes in memory that says how much of it is free.
type smallDisk struct {
	vfs.FS
	free    atomic.Uint64
	refused atomic.Int64 // writes
}

// GetDiskUsage implements vfs.FS.
func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.free.Load(), TotalBytes: 10 << 30}, nil
}

// While the disk of the embedded store is full, the server is not ready and says
// why. It is ready again when there is room, without a restart.
func TestAServerWhoseDiskIsFullIsNotReady(t *testing.T) {
	disk := &smallDisk{FS: vfs.NewMem()}
	disk.free.Store(5 << 30)
	s, err := pebblestore.Open("data", pebblestore.Options{FS: disk, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{raw("award", award)}, Store: s})
	ready := func(status int, says string) {
		t.Helper()
		n.Eventually("/readyz is what the disk is", func() bool {
			resp := n.Request(t.Context(), "GET", "/readyz", "", nil)
			defer resp.Body.Close()
			var h api.Health
			return json.NewDecoder(resp.Body).Decode(&h) == nil && resp.StatusCode == status && strings.Contains(strings.Join(h.Problems, "; "), says)
		})
	}
	const body = `{"steps":[{"action":"award"}],"start":true,"items":[{"id":"u1"}]}`
	ready(200, "")
	disk.free.Store(100 << 20)
	ready(503, "low on space")
	var p api.Problem
	n.Call("POST", "/v1/bulk-actions", body, 507, &p)
	if p.Code != "storage_low" {
		t.Errorf("a create is answered with %+v, want storage_low", p)
	}
	n.Call("GET", "/healthz", "", 200, nil)
	disk.free.Store(5 << 30)
	ready(200, "")
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", body, 201, &b)
	n.Until(b.ID, api.Completed)
}

// Work that is in flight when another process fills the disk to its last byte
// waits. Reads are answered, creates are refused, and once there is room all goes on.
func TestWorkInFlightSurvivesAFullDisk(t *testing.T) {
	disk := &smallDisk{}
	disk.FS = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if disk.free.Load() == 0 && (op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpCreate) {
			disk.refused.Add(1)
			return syscall.ENOSPC
		}
		return nil
	}))
	disk.free.Store(5 << 30)
	s, err := pebblestore.Open("data", pebblestore.Options{
		FS: disk, Logger: slog.New(slog.DiscardHandler), OnFatal: func(err error) { t.Errorf("the store ended: %v", err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	begun, goOn := make(chan struct{}), make(chan struct{})
	var calls atomic.Int64
	held := func(ctx context.Context, b *plainBatch) error {
		if calls.Add(1) == 1 {
			close(begun)
		}
		<-goOn
		return award(ctx, b)
	}
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{raw("award", held)}, Store: s})
	const body = `{"steps":[{"action":"award"}],"start":true,"items":[{"id":"u1"},{"id":"u2"},{"id":"u3"}]}`
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", body, 201, &b)
	<-begun
	disk.free.Store(0)
	close(goOn)
	n.Eventually("a write has met the full disk, and creates are refused", func() bool {
		resp := n.Request(t.Context(), "GET", "/readyz", "", nil)
		defer resp.Body.Close()
		return disk.refused.Load() > 3 && resp.StatusCode == http.StatusServiceUnavailable
	})
	n.Call("POST", "/v1/bulk-actions", body, 507, nil)
	n.Call("GET", "/v1/bulk-actions/"+b.ID, "", 200, nil)
	n.Call("GET", "/v1/bulk-actions", "", 200, nil)
	disk.free.Store(5 << 30)
	if b := n.Until(b.ID, api.Completed); b.Counts.Done != 3 {
		t.Errorf("counts = %+v, want all 3 done", b.Counts)
	}
	n.Eventually("creates are taken again", func() bool {
		resp := n.Request(t.Context(), "POST", "/v1/bulk-actions", body, nil)
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusCreated
	})
}
