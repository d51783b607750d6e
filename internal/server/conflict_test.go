package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

func TestAConflictSaysInASentenceWhichFieldsDiffer(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{newGate().step("award")}})
	key := http.Header{"Idempotency-Key": {"spring"}}
	const path = "/v1/bulk-actions"
	spec := func(name string, more ...string) string {
		return fmt.Sprintf(`{"steps":[{"action":"award"}],"name":%q%s}`, name, strings.Join(append([]string{""}, more...), ","))
	}
	n.CallWith("POST", path, spec("a"), key, 201, nil)
	all := []string{`"tenant":"x"`, `"priority":1`, `"tier":"low"`, `"concurrency":2`, `"allow_empty":true`, `"item_id":"u"`, `"duplicates":"keep_all"`, `"on_bad_line":"record"`}
	for _, tt := range []struct{ name, body, want string }{
		{"one", spec("b"), `was used before, with another body: name differs`},
		{"one that was not there", spec("a", all[0]), `with another body: tenant differs`},
		{"two", spec("b", all[0]), `with another body: name and tenant differ`},
		{"three", spec("b", all[:2]...), `with another body: name, priority and tenant differ`},
		{"as many as are named", spec("a", all...), `: allow_empty, concurrency, duplicates, item_id, on_bad_line, priority, tenant and tier differ`},
		{"more than are named", spec("b", append(all, `"start":true`)...), `: allow_empty, concurrency, duplicates, item_id, name, on_bad_line, priority, start and 2 more differ`},
		{"only spaces in a field", strings.Replace(spec("a"), `:"award"`, `: "award" `, 1), `was used before, and the body is not the same byte for byte`},
		{"only spaces", " " + spec("a"), `was used before, and the body is not the same byte for byte`},
	} {
		var p api.Problem
		n.CallWith("POST", path, tt.body, key, 409, &p)
		if p.Code != "idempotency_conflict" || !strings.HasSuffix(p.Detail, tt.want) || !strings.HasPrefix(p.Detail, `Idempotency-Key "spring" was used before, `) {
			t.Errorf("%s: %s: %s; want it to end with %q", tt.name, p.Code, p.Detail, tt.want)
		}
	}
}
