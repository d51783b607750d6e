package server_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/server"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// largeRows are rows that no socket holds.
func largeRows() string {
	row := fmt.Sprintf(`"text":%q}`, strings.Repeat("x", 2000))
	var b strings.Builder
	for i := range 16_000 {
		fmt.Fprintf(&b, "{\"id\":\"u%d\",%s\n", i, row)
	}
	return b.String()
}

// A download whose reader takes nothing ends with its key, too. There is place for one: another is answered when it has ended.
func TestADownloadEndsWithItsKey(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{operated("award")}, Server: server.Options{Exports: 1, SlowBody: time.Hour}})
	b := n.Make(`{"steps":[{"action":"award"}],"item_id":"id"}`, largeRows())
	n.Until(b.ID, api.Completed)
	for _, path := range []string{"/v1/bulk-actions/" + b.ID + "/results?state=all", "/v1/bulk-actions/" + b.ID + "/results?state=all&format=ndjson"} {
		reader := n.As([]access.Scope{access.Read})
		var who api.Whoami
		reader.Call("GET", "/v1/whoami", "", 200, &who)
		var resp *http.Response
		n.Eventually("there is place for a download", func() bool { // the one before has been answered, and may not have left
			resp = reader.Request(t.Context(), "GET", path, "", nil)
			if resp.StatusCode != http.StatusOK {
				_ = resp.Body.Close()
			}
			return resp.StatusCode == http.StatusOK
		})
		n.Call("GET", path, "", http.StatusTooManyRequests, nil)
		n.Call("DELETE", "/v1/keys/"+who.Key, "", 200, nil)
		n.Eventually("the download has ended", func() bool {
			other := n.Request(t.Context(), "GET", "/v1/bulk-actions/"+b.ID+"/results", "", nil)
			_ = other.Body.Close()
			return other.StatusCode == http.StatusOK
		})
		got, err := io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %d bytes and %v, want a response that is cut off", path, got, err)
		}
	}
}

// The pages that are open with a key send it, too, when it is revoked, and so use up what invalid keys may be sent.
func TestADownloadEndsWithItsKeyThoughItsAddressHasSentManyInvalidOnes(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{operated("award")}, Server: server.Options{Exports: 1, SlowBody: time.Hour}})
	b := n.Make(`{"steps":[{"action":"award"}],"item_id":"id"}`, largeRows())
	n.Until(b.ID, api.Completed)
	reader := n.As([]access.Scope{access.Read})
	var who api.Whoami
	reader.Call("GET", "/v1/whoami", "", 200, &who)
	path := "/v1/bulk-actions/" + b.ID + "/results"
	resp := reader.Request(t.Context(), "GET", path, "", nil)
	defer resp.Body.Close()
	wrong := func() int {
		other := n.Request(t.Context(), "GET", "/v1/whoami", "", http.Header{"Authorization": {"Bearer wk_wrong"}})
		_ = other.Body.Close()
		return other.StatusCode
	}
	n.Eventually("no more invalid keys are looked at", func() bool { return wrong() == http.StatusTooManyRequests })
	n.Call("DELETE", "/v1/keys/"+who.Key, "", 200, nil)
	n.Eventually("the download has ended", func() bool {
		wrong() // what may be sent comes back, one a second
		other := n.Request(t.Context(), "GET", path, "", nil)
		_ = other.Body.Close()
		return other.StatusCode == http.StatusOK
	})
}
