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

// The words of the mapping agree with what is left out.
func TestDuplicatesAreNotCountedAsUsed(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	at := b.begin(url.Values{"action": {"send"}})
	_, page, _ := b.sendForm(at+"/data", "file=users.csv", "user_id,amount\nu1,5\nu2,7\nu1,9\n")
	b.want(page, "2 of 3 rows will be used; 1 duplicate is left out.")
	b.lacks(page, "can be used.")
	_, page = b.post(at+"/mapping", url.Values{"item_id": {"user_id"}, "bad": {"record"}, "duplicates": {"refuse"}, "s0": {"whole"}, "do": {"check"}})
	b.want(page, "1 row has the id of an earlier row.")
	other := b.begin(url.Values{"action": {"send"}})
	_, page, _ = b.sendForm(other+"/data", "file=users.csv", "user_id,amount\nu1,5\n,7\n")
	b.want(page, "user_id is empty", "Bad rows 1 row", "Show the bad row")
}

// After a trial the page does not say that nothing was sent.
func TestAForecastTellsThatATrialWasSent(t *testing.T) {
	n := openNode(t, nodetest.Options{})
	b := newBrowser(t, n)
	at := b.begin(url.Values{"action": {"send"}})
	b.sendForm(at+"/data", "kind", "ids", "rows", "u1\nu2\n")
	_, page := b.get(at + "/forecast")
	b.want(page, "It has not started.")
	_, page = b.post(at+"/trial", url.Values{"first": {"1"}, "real": {"1"}})
	b.want(page, "It has not started: only the trial was sent, for real.", "No bulk action has called send yet")
	b.lacks(page, "Nothing has been sent")
}
