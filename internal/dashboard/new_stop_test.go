package dashboard_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// The rule about failures that the wizard offers can apply, and one that cannot is told.
func TestTheOfferedStopRuleCanApply(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	var rows strings.Builder
	for i := range 498 {
		fmt.Fprintf(&rows, "u%d\n", i)
	}
	at := b.begin(url.Values{"action": {"send"}})
	b.sendForm(at+"/data", "kind", "ids", "rows", rows.String())
	b.post(at+"/mapping", url.Values{"bad": {"record"}, "duplicates": {"keep_first"}, "s0": {"whole"}, "do": {"next"}, "shown": {"498"}})
	_, page := b.get(at + "/forecast")
	b.want(page, "Stop if 5 % fail, counted from 50 items. Stopping loses nothing.")
	_, page = b.get(at + "/rules")
	if !strings.Contains(page, `name="stop_after" value="50"`) {
		t.Errorf("the page offers another number: %s", page)
	}
	b.lacks(page, "It cannot stop for this")
	never := "It cannot stop for this: failures are counted from 1,000 items on, and the data has 498."
	_, page = b.post(at+"/rules", url.Values{"canary": {"none"}, "stop": {"1"}, "stop_percent": {"5"}, "stop_after": {"1000"}})
	b.want(page, "Stop if 5 % fail, counted from 1,000 items. "+never)
	_, page = b.get(at + "/rules")
	b.want(page, never)
	_, page = b.post(at+"/rules", url.Values{"canary": {"none"}, "stop": {"1"}, "stop_percent": {"5"}})
	b.want(page, "counted from 100 items. Stopping loses nothing.")
	b.lacks(page, "It cannot stop for this")
}
