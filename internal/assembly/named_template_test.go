package assembly_test

import (
	"encoding/json"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/draft"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// TestARequestThatIsDoneAgainGetsWhatItsFirstTryMade: whatever has become of the template meanwhile, and however far the try got.
func TestARequestThatIsDoneAgainGetsWhatItsFirstTryMade(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{limited("mail", 1000)}})
	s, ctx := n.Service(), t.Context()
	put := func(season string) {
		t.Helper()
		n.Call("PUT", "/v1/templates/spring", `{"params":[{"name":"n","type":"integer"}],"bulk_action":{"params":{"season":"`+season+`"},"steps":[{"action":"mail"}],
			"callback":{"url":"http://127.0.0.1:1/x","secret":"whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0"}}}`, 200, nil)
	}
	request := api.NewBulkAction{Template: "spring", Tenant: "default", Params: json.RawMessage(`{"n":7}`)}
	for _, tt := range []struct {
		name  string
		items []api.Item
	}{
		{"a draft", nil},
		{"all of it", []api.Item{{ID: "u1"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			put("spring")
			id, err := s.Drafts.NewID(ctx, "default")
			if err != nil {
				t.Fatal(err)
			}
			first, err := s.Bulks.Create(ctx, request, draft.Made{ID: id})
			if err != nil || first.Template == nil {
				t.Fatalf("%+v, %v", first, err)
			}
			whole := request
			whole.Items = tt.items
			for _, change := range []func(){
				func() { put("autumn") },
				func() { n.Call("DELETE", "/v1/templates/spring", "", 204, nil) },
				func() {},
			} {
				change()
				again, err := s.Bulks.Create(ctx, whole, draft.Made{ID: id})
				if err != nil || again.ID != id || string(again.Params) != `{"n":7,"season":"spring"}` || *again.Template != *first.Template || again.Counts.Total != int64(len(tt.items)) {
					t.Errorf("again: %+v, %v", again, err)
				}
			}
		})
	}
	if _, err := s.Bulks.Create(ctx, request, draft.Made{}); err == nil {
		t.Error("a new request was done without the template")
	}
}
