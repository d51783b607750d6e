package server_test

import (
	"fmt"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

func TestATimeBefore1970IsRefusedAndNeverCountsAsNotGiven(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{newGate().step("award")}})
	for _, at := range []string{"0001-01-01T00:00:00Z", "0001-01-01T01:00:00+01:00", "1969-12-31T00:00:00Z"} {
		for _, c := range []struct{ path, body, field string }{
			{"keys", `{"name":"k","scopes":["read"],"expires_at":%q}`, "expires_at"},
			{"bulk-actions", `{"steps":[{"action":"award"}],"deadline":%q}`, "deadline"},
			{"bulk-actions", `{"steps":[{"action":"award"}],"start_at":%q}`, "start_at"},
			{"schedules", `{"name":"s","cron":"0 9 * * 1","until":%q,"bulk_action":{"steps":[{"action":"award"}]}}`, "until"},
			{"schedules", `{"name":"s","at":%q,"bulk_action":{"steps":[{"action":"award"}]}}`, "at"},
			{"schedules", `{"name":"s","cron":"0 9 * * 1","bulk_action":{"steps":[{"action":"award"}],"deadline":%q}}`, "bulk_action.deadline"},
		} {
			var p api.Problem
			n.Call("POST", "/v1/"+c.path, fmt.Sprintf(c.body, at), 422, &p)
			if p.Code != "bad_time" || len(p.Errors) != 1 || p.Errors[0].Field != c.field || p.Fix == "" {
				t.Errorf("%s with %s %s: %+v, want bad_time", c.path, c.field, at, p)
			}
		}
	}
	n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],"labels":{"at":"0001-01-01"},"params":{"until":"0001-01-01T00:00:00Z"}}`, 201, nil)
}

func TestLabelsAreTextWithoutControlCharacters(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{newGate().step("award")}})
	for _, labels := range []string{`{"a":"x\ny"}`, `{"a":"\u001b[31m"}`, `{"a\nb":"x"}`} {
		var p api.Problem
		n.Call("POST", "/v1/bulk-actions", `{"steps":[{"action":"award"}],"labels":`+labels+`}`, 422, &p)
		if p.Code != "bad_text" {
			t.Errorf("labels %s: %+v, want bad_text", labels, p)
		}
	}
}
