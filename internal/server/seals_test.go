package server_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// The items of a draft with duplicates are written again, so the first seal to end removes what others read.
func TestSealsOfADraftAtOnceGetTheSameBulkAction(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{raw("award", award)}})
	for draft := range 30 {
		var b api.BulkAction
		n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],"duplicates":"keep_first"}`, 201, &b)
		for part := range 8 {
			list := rows(20, func(i int) string { return fmt.Sprintf(`{"id":"u%d"}`, part*10+i) })
			n.CallWith("POST", "/v1/bulk-actions/"+b.ID+"/items", list, http.Header{"Content-Type": {"application/x-ndjson"}}, 202, nil)
		}
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				resp := n.Request(t.Context(), "POST", "/v1/bulk-actions/"+b.ID+"/seal", `{"start":true,"expected_items":160}`, nil)
				defer resp.Body.Close()
				text, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != 200 && !(resp.StatusCode == 409 && strings.Contains(string(text), `"in_progress"`)) {
					t.Errorf("draft %d: a seal beside others: %d %s, %v", draft, resp.StatusCode, text, err)
				}
			})
		}
		all.Wait()
		if b = n.Until(b.ID, api.Completed); b.Counts.Done != 90 {
			t.Fatalf("draft %d ends with %+v, want 90 done", draft, b.Counts)
		}
	}
}
