package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

func TestTheSimulatorComparesWhatIsWithWhatWouldBe(t *testing.T) {
	n, b := working(t)
	n.Call("PUT", "/v1/resources/send", `{"rate":"50/s"}`, 200, nil)
	page := b.until("/ui/simulator", "1 running bulk action is part of it")
	b.want(page, "What if", "Resource Items per second", "Bulk actions to add", "Nothing is changed and nothing is sent.")
	if !strings.Contains(page, `name="rate.send" value="50/s"`) {
		t.Errorf("the rate is not filled in:\n%s", page)
	}
	_, page = b.get("/ui/simulator?" + url.Values{"run": {"1"}, "rate.send": {"50/s"}, "items-1": {"5,000"}, "tenant-1": {"crm"}, "chain-1": {"send"}}.Encode())
	b.want(page, "All of it would take", "as it is.", "The bottleneck would be the rate of send, 50/s.", "spring growth 3", "Extra bulk action 1 crm 5,000 –",
		"Items per second. At most", "Share of crm, in per cent", "crm would get", "Assumptions")
	if !strings.Contains(page, `name="items-1" value="5,000"`) {
		t.Error("what was typed is gone")
	}
}

func TestTheSimulatorSaysWhatIsWrongAtItsField(t *testing.T) {
	_, b := working(t)
	b.until("/ui/simulator", "1 running bulk action is part of it")
	hostile := `"><script>alert(1)</script>`
	status, page := b.get("/ui/simulator?" + url.Values{"run": {"1"}, "rate.send": {"fast"}, "calls.send": {"-1"}, "takes.send": {"long"}, "nodes": {"0"},
		"items-1": {"x"}, "chain-1": {hostile}, "items-2": {"5"}}.Encode())
	if status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	b.want(page, "send: write a number above 0", "send: write how long a call takes", "from 1 to 1,000,000", "from 1 to 200", "from 1 to 100,000,000",
		"No action is called", "Name its actions in order, with commas.")
	for _, name := range foreign(t, page) {
		t.Errorf("the page has the element or attribute %s", name)
	}
}

func TestTheSimulatorWorksForOneTenantAndWithoutWork(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(opened())}, Closed: true})
	b := newBrowser(t, n)
	b.post("/ui/sign-in", url.Values{"key": {n.As([]access.Scope{access.Read}, "growth").Key()}})
	_, page := b.get("/ui/simulator")
	b.want(page, "nothing runs now", "not shown to you")
	_, page = b.get("/ui/simulator?run=1")
	b.want(page, "Nothing runs now: say how many items there would be.")
	_, page = b.get("/ui/simulator?run=1&items-1=2000&chain-1=send&rate.send=100")
	b.want(page, "All of it would take", "Extra bulk action 1 default 2,000", "the rate of send, 100/s")
}
