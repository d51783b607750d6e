package dashboard_test

import (
	"bufio"
	"context"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/server"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// TestANodeServesSoManyLivePages opens as many as a node serves, and one more.
func TestANodeServesSoManyLivePages(t *testing.T) {
	open := make(chan struct{})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(open)}, Server: server.Options{Streams: 1}})
	t.Cleanup(func() { close(open) })
	n.Make(oneStep, `{"id":"u1"}`+"\n")
	first := func(ctx context.Context) string {
		resp := n.Request(ctx, "GET", "/ui/live?of=/ui/", "", nil)
		t.Cleanup(func() { resp.Body.Close() })
		line, err := bufio.NewReader(resp.Body).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(line)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range 32 { // of one viewer without a key: more than the streams of the API that a key may have
		if got := first(ctx); got != "event: parts" {
			t.Fatalf("page %d gets %q", i, got)
		}
	}
	if got := first(t.Context()); got != "event: busy" {
		t.Errorf("one more page gets %q", got)
	}
	cancel()
	n.Eventually("their places are free again", func() bool {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		return first(ctx) == "event: parts"
	})
}
