package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
	"github.com/weirhq/weir/internal/cli/command"
	"github.com/weirhq/weir/internal/cli/config"
)

// fileOf are the settings that a weir.yaml and flags make.
func fileOf(t *testing.T, text string) *config.Server {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "weir.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := map[string]string{"listen": "127.0.0.1:0", "admin_listen": "127.0.0.1:0", "data": filepath.Join(dir, "d"), "durability": "memory", "log.format": "text"}
	c, err := config.Load(config.Source{Dir: dir, Path: filepath.Join(dir, "weir.yaml"), Getenv: func(string) string { return "" }, Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// runOne submits an item to an action for a tenant, and waits for its end.
func runOne(t *testing.T, c *client.Client, action, tenant string) api.BulkAction {
	t.Helper()
	b, err := c.Create(t.Context(), api.NewBulkAction{Tenant: tenant, Start: true, Steps: []api.Step{{Action: action}}, Items: []api.Item{{ID: "u1"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range c.Watch(t.Context(), b.ID) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// An action of the file with the name of a demo action is the one that is called, and a
// topic of the file gets the events of its tenant alone.
func TestActionsAndTopicsOfTheFileAreUsed(t *testing.T) {
	calls := make(chan string, 10)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		var call struct{ Action string }
		_ = json.Unmarshal(raw, &call)
		calls <- call.Action
		_, _ = io.WriteString(w, `{"default":"done"}`)
	}))
	t.Cleanup(endpoint.Close)
	bus, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "events"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bus.Close)
	h := open(t, fileOf(t, fmt.Sprintf(`
egress: {allow: [loopback]}
actions: {demo.award: {url: %q}}
connections: {bus: {kind: kafka, address: %q, plain: true}}
webhooks: {stream: {topic: events, connection: bus, tenant: acme, events: [bulk_action.completed]}}
`, endpoint.URL, strings.Join(bus.ListenAddrs(), ","))), nodeParts(false))
	c, err := client.New(client.Options{Server: h.url(t)})
	if err != nil {
		t.Fatal(err)
	}
	runOne(t, c, "demo.award", "other")
	own := runOne(t, c, "demo.award", "acme")
	for range 2 {
		select {
		case got := <-calls:
			if got != "demo.award" {
				t.Errorf("the endpoint of the file was called for %q", got)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("the endpoint of the file was not called: the action of the program was")
		}
	}
	if got := firstEvents(t, bus); !slices.Equal(got, []string{own.ID}) {
		t.Errorf("the topic of acme got events of %v, want %s alone", got, own.ID)
	}
	c.Close()
	h.stop(t)
}

// firstEvents reads what a topic has once it has something: whose events they are.
func firstEvents(t *testing.T, bus *kfake.Cluster) (keys []string) {
	t.Helper()
	k, err := kgo.NewClient(kgo.SeedBrokers(bus.ListenAddrs()...), kgo.ConsumeTopics("events"))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for len(keys) == 0 && ctx.Err() == nil {
		for r := range k.PollFetches(ctx).RecordsAll() {
			keys = append(keys, string(r.Key))
		}
	}
	return keys
}

func TestAnActionOfTheProgramCannotBeInTheFileToo(t *testing.T) {
	c := fileOf(t, "actions: {send: {url: https://example.com/}}\n")
	_, err := programSteps(&command.Env{Steps: []weir.Step{{Name: "send"}}}, c)
	if err == nil || !strings.Contains(err.Error(), "actions.send: the program has an action of this name") {
		t.Errorf("programSteps = %v, want the action named", err)
	}
}
