package dashboard_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// The forecast names the limit that is reached first, and a remedy that helps.
func TestTheForecastNamesWhoseLimitItIs(t *testing.T) {
	n := openNode(t, nodetest.Options{Actions: []api.Action{{Name: "push", URL: "http://127.0.0.1:9/push", Resource: "gateway"}}})
	n.Call("PUT", "/v1/resources/gateway", `{"rate":"100/s"}`, 200, nil)
	b := newBrowser(t, n)
	var rows strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&rows, "u%d\n", i)
	}
	at := b.begin(url.Values{"action": {"push"}, "tenant": {"crm"}})
	b.sendForm(at+"/data", "kind", "ids", "rows", rows.String())
	for _, tt := range []struct {
		rate, atOnce, want string
		resource           bool // an operator could raise the resource's rate
	}{
		{"", "", "The rate limit of gateway, 100/s, is the bottleneck.", true},
		{"10/s", "", "The bottleneck is the rate of this bulk action itself at gateway, 10/s. Raise it under Rules to end earlier.", false},
		{"", "1", "The bottleneck is how many calls this bulk action may have at once: 1. Raise it under Rules to end earlier.", false},
	} {
		b.post(at+"/rules", url.Values{"canary": {"none"}, "rate-push": {tt.rate}, "concurrency": {tt.atOnce}})
		_, page := b.get(at + "/forecast")
		b.want(page, tt.want)
		if got := strings.Contains(page, "An operator would have to raise the rate of gateway."); got != tt.resource {
			t.Errorf("rate %q, at once %q: the page suggests to raise the resource's rate: %v", tt.rate, tt.atOnce, got)
		}
	}
	b.post(at+"/rules", url.Values{"canary": {"none"}, "rate-push": {"0.001/s"}})
	_, page := b.get(at + "/forecast")
	b.want(page, "Rate of push, 0.001/s: 3,000 items at 1 per 1,000 s take 34 days 17 h.")
	n.Call("PUT", "/v1/tenants/crm", `{"max_tasks":1}`, 200, nil)
	b.post(at+"/rules", url.Values{"canary": {"none"}})
	_, page = b.get(at + "/forecast")
	b.want(page, "The bottleneck is how many calls the tenant crm may have at once: 1. An operator could raise it.")
}
