package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestATestChecksItemsAgainstTheSchemaOfTheAction(t *testing.T) {
	n := ended(t, false)
	called := false
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	t.Cleanup(service.Close)
	n.Call("PUT", "/v1/actions/push", `{"url":"`+service.URL+`","schema":{"type":"object","required":["mail"],"properties":{"amount":{"type":"integer"}}}}`, 200, nil)
	b := newBrowser(t, n)
	status, page := b.post("/ui/settings/actions/push/test", url.Values{"items": {"- id: u1\n  data: {amount: many}"}})
	if status != http.StatusUnprocessableEntity || called {
		t.Errorf("the status is %d; the service was called: %v", status, called)
	}
	b.want(page, "[0].data", "mail", "amount")
}

// An item that the endpoint says to try later waits for nothing after a trial. The result is what the page opens with.
func TestAnItemToTryLaterWouldBeTriedAgain(t *testing.T) {
	n := ended(t, false)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	t.Cleanup(service.Close)
	n.Call("PUT", "/v1/actions/push", `{"url":"`+service.URL+`"}`, 200, nil)
	b := newBrowser(t, n)
	_, page := b.post("/ui/settings/actions/push/test", url.Values{"items": {"- id: u1\n"}})
	b.want(page, "u1 Would be tried again")
	at := b.begin(url.Values{"action": {"push"}})
	b.sendForm(at+"/data", "kind", "csv", "rows", "id\nu1\n")
	_, page = b.post(at+"/trial", url.Values{"first": {"1"}})
	b.want(page, "u1 Would be tried again")
	b.lacks(page, "Waiting to retry", "u1 waiting")
	if !strings.Contains(page, `id="trial" tabindex="-1" autofocus`) {
		t.Errorf("the page does not open at the result: %s", page)
	}
	_, page = b.post("/ui/schedules/new", scheduleForm("check", "1"))
	if !strings.Contains(page, `id="told" tabindex="-1" autofocus`) {
		t.Errorf("the form does not open at what the check says: %s", page)
	}
}
