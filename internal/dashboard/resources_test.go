package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// working is a node whose bulk action of three items waits in flight, and a browser that looks at it.
func working(t *testing.T) (*nodetest.Node, *browser) {
	open := make(chan struct{})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(open)}, SeriesEvery: 50 * time.Millisecond})
	t.Cleanup(func() { close(open) })
	n.Make(oneStep, `{"id":"u1"}`+"\n"+`{"id":"u2"}`+"\n"+`{"id":"u3"}`+"\n")
	return n, newBrowser(t, n)
}

// until gets a page again until it has a text: what nodes do is on it a moment later.
func (b *browser) until(path, want string) (page string) {
	b.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if _, page = b.get(path); strings.Contains(text(b.t, page), want) {
			return page
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.t.Fatalf("%s lacks %q:\n%s", path, want, text(b.t, page))
	return page
}

func TestTheLimitsOfAResourceAreSeenChangedAndTakenBack(t *testing.T) {
	n, b := working(t)
	page := b.until("/ui/resources", "Limits 1 resource")
	b.want(page, "All circuits are closed", "send No limits are set No limit", "Closed", "Change limits of send", "weir resources list",
		`curl "$WEIR_SERVER"/v1/resources`)
	status, page := b.post("/ui/resources/send/limits", url.Values{"rate": {"450"}, "concurrency": {"8"}, "pacing": {"full"}})
	if status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	b.want(page, "send has 450/s, 8 calls at once, full pacing since", "Before: no limit on the rate, any number of calls at once, smooth pacing.",
		"weir resources set send --rate 450/s --concurrency 8 --pacing full", "Set at run time", "Back to that")
	var got api.ResourceStatus
	n.Call("GET", "/v1/resources/send", "", 200, &got)
	if got.Rate != 450 || got.Concurrency != 8 || got.Pacing != "full" {
		t.Errorf("the limits are %+v", got)
	}
	_, page = b.post("/ui/resources/send/limits", url.Values{"rate": {"450/s"}, "concurrency": {"8"}, "pacing": {"full"}})
	b.want(page, "Nothing was different")
	_, page = b.post("/ui/resources/send/reset", nil)
	b.want(page, "The limits that were set at run time are gone.", "No limits are set")
}

func TestTheSharesOfTenantsAreShownWithAReason(t *testing.T) {
	open := make(chan struct{})
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(open)}})
	t.Cleanup(func() { close(open) })
	n.Call("PUT", "/v1/resources/send", `{"concurrency":1}`, 200, nil)
	var rows strings.Builder
	for i := range 300 {
		fmt.Fprintf(&rows, "{\"id\":\"u%d\"}\n", i)
	}
	n.Make(oneStep, rows.String())
	n.Make(strings.ReplaceAll(oneStep, "growth", "crm"), rows.String())
	b := newBrowser(t, n)
	page := b.until("/ui/resources", "growth 1 50.0 %")
	b.want(page, "crm 1 50.0 %", "Nothing is sent to this service now.", "Shares of send by tenant", "Weights and limits of tenants")
}

func TestTheEffectOfLimitsIsShownBeforeTheyAreSet(t *testing.T) {
	n, b := working(t)
	b.until("/ui/resources", "Limits 1 resource")
	page := b.until("/ui/resources?of=send&rate=5&concurrency=&pacing=smooth", "With 5/s: spring")
	b.want(page, "Set it", "Show the effect")
	var got api.ResourceStatus
	if n.Call("GET", "/v1/resources/send", "", 200, &got); got.Rate != 0 {
		t.Errorf("a look has set the rate to %v", got.Rate)
	}
	_, page = b.get("/ui/resources?of=send&rate=&concurrency=&pacing=smooth")
	b.want(page, "Nothing is different from the limits now.")
	_, page = b.get("/ui/resources?of=send&rate=fast&concurrency=&pacing=smooth")
	b.want(page, "Write a number above 0")
}

func TestAWrongLimitIsSaidAtItsFieldAndWhatWasTypedStays(t *testing.T) {
	_, b := working(t)
	b.until("/ui/resources", "Limits 1 resource")
	hostile := `"><script>alert(1)</script>`
	status, page := b.post("/ui/resources/send/limits", url.Values{"rate": {"-3"}, "concurrency": {hostile}, "pacing": {"smooth"}})
	if status != http.StatusUnprocessableEntity {
		t.Errorf("status %d", status)
	}
	b.want(page, "Write a number above 0", "Write a whole number")
	for _, want := range []string{`value="-3"`, `aria-describedby="rate-e"`, `id="concurrency-e"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	for _, name := range foreign(t, page) {
		t.Errorf("the page has the element or attribute %s", name)
	}
	if status, page = b.post("/ui/resources/send/limits", url.Values{"rate": {"9e9"}, "concurrency": {"2000000"}, "pacing": {"smooth"}}); status != http.StatusUnprocessableEntity {
		t.Errorf("too much: status %d", status)
	}
	b.want(page, "Write a number above 0", "up to 1,000,000")
}

func TestACircuitIsOpenedWithAReasonAndFollowsFailuresAgain(t *testing.T) {
	_, b := working(t)
	b.until("/ui/resources", "Limits 1 resource")
	_, page := b.get("/ui/resources/send/circuit/open")
	b.want(page, "Open the circuit of send?", "Will wait", "Will finish", "Leave it as it is")
	status, page := b.post("/ui/resources/send/circuit/open", nil)
	if status != http.StatusUnprocessableEntity {
		t.Errorf("without a reason the status is %d", status)
	}
	b.want(page, "Give a reason.")
	_, page = b.post("/ui/resources/send/circuit/open", url.Values{"reason": {"they asked us <b>to</b>"}})
	b.want(page, "No call starts on send now.", "It ends by itself at", `weir circuit send open --for 10m --reason 'they asked us <b>to</b>'`)
	page = b.until("/ui/resources", "The circuit of send is open since")
	b.want(page, "they asked us <b>to</b>", "1 service takes no calls now", "Let it follow failures")
	if status, page = b.post("/ui/resources/send/circuit/probe", nil); status != http.StatusConflict {
		t.Errorf("a test of a circuit that is open by hand: status %d", status)
	}
	b.want(page, "Nothing was changed.")
	_, page = b.post("/ui/resources/send/circuit/free", nil)
	b.want(page, "The circuit of send follows failures again.", "weir circuit send auto")
	if status, _ = b.get("/ui/resources/send/circuit/shut"); status != http.StatusConflict {
		t.Errorf("an unknown verb: status %d", status)
	}
}

func TestResourcesAndLanesAreForPeopleWhoSeeWhatAllTenantsShare(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{send(opened())}, Closed: true})
	b := newBrowser(t, n)
	_, page := b.post("/ui/sign-in", url.Values{"key": {n.As([]access.Scope{access.Read}, "growth").Key()}})
	if strings.Contains(page, "/ui/resources") {
		t.Error("the navigation of one tenant leads to the resources of all")
	}
	for _, path := range []string{"/ui/resources", "/ui/lanes"} {
		if status, _ := b.get(path); status != http.StatusForbidden {
			t.Errorf("%s of one tenant: status %d", path, status)
		}
	}
	b = newBrowser(t, n)
	b.post("/ui/sign-in", url.Values{"key": {n.As([]access.Scope{access.Read}).Key()}})
	if status, page := b.get("/ui/resources"); status != http.StatusOK || strings.Contains(page, "<script>") {
		t.Errorf("with the scope read the status is %d", status)
	}
	if status, _ := b.post("/ui/resources/send/limits", url.Values{"rate": {"5"}}); status != http.StatusForbidden && status != http.StatusNotFound {
		t.Errorf("a change with the scope read: status %d", status)
	}
}
