package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
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
