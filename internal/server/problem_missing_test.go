package server_test

import (
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

func TestAParameterThatIsMissingHasTheCodeOfAMissingField(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Partitions: 1})
	var p api.Problem
	n.Call("GET", "/v1/deliveries", "", 400, &p)
	if len(p.Errors) != 1 || p.Errors[0].Code != "missing_field" || p.Errors[0].Field != "webhook" || p.Errors[0].Fix == "" {
		t.Errorf("the problem is %+v", p)
	}
}

func TestWhatIsNotFoundIsNamed(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Partitions: 1})
	const noBulk = "bulk action ba_x does not exist, or the API key has no access to it"
	for _, tt := range []struct{ method, path, body, detail, fix string }{
		{"GET", "/v1/bulk-actions/ba_x", "", noBulk, "check the id, or list them: weir list (GET /v1/bulk-actions)"},
		{"POST", "/v1/bulk-actions/ba_x/retry", "{}", noBulk, "check the id, or list them: weir list (GET /v1/bulk-actions)"},
		{"GET", "/v1/schedules/nightly", "", "schedule nightly does not exist, or the API key has no access to it",
			"check the id, or list them: weir schedules list (GET /v1/schedules)"},
		{"DELETE", "/v1/templates/spring", "", "template spring does not exist, or the API key has no access to it",
			"check the id, or list them: weir templates list (GET /v1/templates)"},
		{"DELETE", "/v1/lanes/p00/push/pin", "", "lane p00/push does not exist, or the API key has no access to it",
			"check the id, or list them: weir lanes (GET /v1/lanes)"},
		{"GET", "/v1/items/itm_x", "", "item itm_x does not exist, or the API key has no access to it", "check the id and the key"},
		{"POST", "/v1/simulations", `{"bulk_action":"ba_x"}`, "bulk_action: " + noBulk, "check the id, or list them: weir list (GET /v1/bulk-actions)"},
	} {
		var p api.Problem
		n.Call(tt.method, tt.path, tt.body, 404, &p)
		if p.Code != "not_found" || p.Detail != tt.detail || p.Fix != tt.fix {
			t.Errorf("%s %s: %s %q, fix %q; want %q, fix %q", tt.method, tt.path, p.Code, p.Detail, p.Fix, tt.detail, tt.fix)
		}
	}
}
