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

// TestLivePagesCountAsStreamsOfTheirKey opens two live pages where a key may have one stream.
func TestLivePagesCountAsStreamsOfTheirKey(t *testing.T) {
	open := make(chan struct{})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(open)}, Server: server.Options{Streams: 1}})
	t.Cleanup(func() { close(open) })
	made := n.Make(oneStep, `{"id":"u1"}`+"\n")
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
	if got := first(ctx); got != "event: parts" {
		t.Fatalf("the first page gets %q", got)
	}
	if got := first(t.Context()); got != "event: busy" {
		t.Errorf("the second page gets %q", got)
	}
	n.Call("GET", "/v1/bulk-actions/"+made.ID+"/events", "", 429, nil)
	cancel()
	n.Eventually("the place of the first page is free again", func() bool {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		return first(ctx) == "event: parts"
	})
}
