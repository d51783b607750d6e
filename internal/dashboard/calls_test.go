package dashboard

import (
	"net/http"
	"strings"
	"testing"
)

func TestCommandsShowNoSecrets(t *testing.T) {
	body := `{"name":"weekly's <b>","header":{"Authorization":"Bearer hunter2"},"bulk_action":{"callback":{"url":"https://a.test","secret":"hunter2"}},"n":12345678901234567890}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://weir.test/v1/x?a=b%20c", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	c := calls{keyed: true}
	c.add(req.Method, req.URL.RequestURI(), shown(req))
	want := `curl -X PUT -H "Authorization: Bearer $WEIR_API_KEY" "$WEIR_SERVER"'/v1/x?a=b%20c' -H 'Content-Type: application/json' -d ` +
		`'{"bulk_action":{"callback":{"secret":"…","url":"https://a.test"}},"header":"…","n":12345678901234567890,"name":"weekly'\''s <b>"}'`
	if len(c.list) != 1 || c.list[0] != want {
		t.Errorf("got  %s\nwant %s", c.list, want)
	}
}
