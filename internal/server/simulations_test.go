package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// twoTenantsWorld is two tenants with the same work, one of which weighs three times as much.
const twoTenantsWorld = `{"resources":[{"name":"send","rate":"100/s","downstream":{"latency":"50ms"}}],
	"tenants":[{"name":"big","weight":3},{"name":"small","weight":1}],
	"bulk_actions":[{"name":"a","tenant":"big","items":6000,"batch":10,"steps":["send"]},{"name":"b","tenant":"small","items":6000,"batch":10,"steps":["send"]}]}`

func simulate(t *testing.T, n *nodetest.Node, body string) (out api.Simulated) {
	t.Helper()
	n.Call("POST", "/v1/simulations", body, http.StatusOK, &out)
	return out
}

// about reports whether a time is within a tenth of another.
func about(got api.Duration, want time.Duration) bool {
	return time.Duration(got) > want*9/10 && time.Duration(got) < want*11/10
}

func TestAMadeUpSystemIsPlayed(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	out := simulate(t, n, `{"world":`+twoTenantsWorld+`,"runs":2}`)
	if !out.Finished || !about(out.Takes.P50, 120*time.Second) || out.Takes.P90 < out.Takes.P50 || out.Finish != nil {
		t.Errorf("12,000 items at 100/s take %+v", out)
	}
	if out.Bottleneck == nil || *out.Bottleneck != (api.Bottleneck{Kind: "rate", Resource: "send", Value: "100/s"}) {
		t.Errorf("its bottleneck is %+v", out.Bottleneck)
	}
	if len(out.BulkActions) != 2 || !about(out.BulkActions[0].Takes.P50, 80*time.Second) || !about(out.BulkActions[1].Takes.P50, 120*time.Second) {
		t.Errorf("3 to 1 they take %+v, want 80s and 120s", out.BulkActions)
	}
	if len(out.Workers) != 1 || out.Workers[0].Peak < 1 {
		t.Errorf("workers %+v", out.Workers)
	}
	c := out.Shares
	if fmt.Sprint(c.Tenants) != "[big small]" || len(c.Points) > 200 || len(c.Points) < 100 {
		t.Fatalf("%d points of %v", len(c.Points), c.Tenants)
	}
	total := int64(0)
	for i, p := range c.Points {
		if total += p.Items; p.Items > 0 && (p.Shares[0]+p.Shares[1] < 0.999 || p.Shares[0]+p.Shares[1] > 1.001) {
			t.Errorf("the shares of point %d are %v", i, p.Shares)
		}
	}
	if total != 12_000 || c.Points[40].Shares[0] < 0.65 || c.Points[40].Shares[0] > 0.85 {
		t.Errorf("%d items in all, and after 41s %+v; want 3 to 1", total, c.Points[40])
	}
	again := simulate(t, n, `{"world":`+twoTenantsWorld+`,"runs":2}`)
	if diff := cmp.Diff(out, again); diff != "" {
		t.Errorf("the same system again has another answer (-first +again)\n%s", diff)
	}
}

// TestASystemThatIsTooMuchIsLeft: the answer comes in time, says how far it is, and that it is no end.
func TestASystemThatIsTooMuchIsLeft(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{})
	began := time.Now()
	out := simulate(t, n, `{"runs":1,"world":{"resources":[{"name":"send","downstream":{"latency":"1ms"}}],"workers":{"start":512,"max":512},"nodes":[{"slots":100000}],
		"bulk_actions":[{"name":"a","items":1000000000,"batch":1,"steps":["send"]}]}}`)
	if out.Finished || out.Takes.P50 == 0 || !strings.Contains(strings.Join(out.Assumptions, "\n"), "Runs stop after 2s of computing") {
		t.Errorf("a billion calls: %+v", out)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("that took %v", took)
	}
}

func TestWhatIsWrongWithASimulationIsTold(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{quick("mail", 100)}})
	b := n.Make(`{"steps":[{"action":"mail"}]}`, `{"id":"u1"}`)
	world := func(more string) string {
		return `{"world":{"resources":[{"name":"send","downstream":{"latency":"10ms"}}],"bulk_actions":[{"name":"a","items":10,"steps":["send"]` + more + `}`
	}
	many := strings.TrimSuffix(strings.Repeat(`{"name":"a","items":1,"steps":["send"]},`, 1001), ",")
	for _, tt := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"nothing", `{}`, 422, "bulk_action missing_field"},
		{"both", `{"bulk_action":"` + b.ID + `","world":{}}`, 422, "world bad_value"},
		{"rates beside a world", `{"world":{},"rates":{"mail":"1/s"}}`, 422, "world bad_value"},
		{"runs of a bulk action", `{"bulk_action":"` + b.ID + `","runs":3}`, 422, "runs bad_value"},
		{"a resource that it does not use", `{"bulk_action":"` + b.ID + `","rates":{"sms":"1/s"}}`, 422, "rates.sms unknown_resource"},
		{"a weight of nothing", `{"bulk_action":"` + b.ID + `","weights":{"default":0}}`, 422, "weights.default out_of_range"},
		{"calls below none", `{"bulk_action":"` + b.ID + `","concurrency":{"mail":-1}}`, 422, "concurrency.mail out_of_range"},
		{"an empty world", `{"world":{}}`, 422, "world.resources out_of_range; world.bulk_actions out_of_range"},
		{"a field that there is not", world(`,"color":1}]}`), 400, "world unknown_field"},
		{"a number that is none", world(`,"batch":"x"}]}`), 422, "world.bulk_actions.batch bad_value"},
		{"no object", `{"world":[1]}`, 422, "world bad_value"},
		{"a step that there is not", world(`},{"name":"b","items":1,"steps":["nowhere"]}]}`), 422, "world.bulk_actions.b.steps out_of_range"},
		{"too many bulk actions", world(`},` + many + `]}`), 422, "world.bulk_actions out_of_range"},
		{"a flood of bulk actions", world(`,"arrivals":"100/s","until":"2h"}]}`), 422, "world.bulk_actions out_of_range"},
		{"too many lanes", `{"world":{"partitions":2000,"resources":[{"name":"send","downstream":{"latency":"10ms"}}],"bulk_actions":[{"name":"a","items":10,"steps":["send"]}]}}`, 422, "world.partitions out_of_range"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := tt.body
			if strings.HasPrefix(body, `{"world":{"resources"`) && strings.Count(body, "{") > strings.Count(body, "}") {
				body += "}"
			}
			var p api.Problem
			n.Call("POST", "/v1/simulations", body, tt.status, &p)
			var faults []string
			for _, f := range p.Errors {
				faults = append(faults, f.Field+" "+f.Code)
			}
			if got := strings.Join(faults, "; "); got != tt.want {
				t.Errorf("%s, want %s: %+v", got, tt.want, p)
			}
		})
	}
}

// quick is an action with a resource of so many items a second.
func quick(name string, rate float64) weir.Step {
	return weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{
		Name: name, Resource: weir.Resource{Name: name, Rate: weir.PerSecond(rate)},
		Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			b.DoneRest()
			return nil
		},
	})
}

func TestABulkActionIsPlayedAgainstThePresentLoad(t *testing.T) {
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{quick("mail", 100)}})
	items := rows(3000, func(i int) string { return fmt.Sprintf(`{"id":"u%d"}`, i) })
	var b api.BulkAction
	n.Call("POST", "/v1/bulk-actions", `{"tenant":"ours","steps":[{"action":"mail"}]}`, 201, &b)
	n.CallWith("POST", "/v1/bulk-actions/"+b.ID+"/items", items, http.Header{"Content-Type": {"application/x-ndjson"}}, 202, nil)
	for _, tt := range []struct {
		name, what string
		want       time.Duration
	}{
		{"as it is", ``, 30 * time.Second},
		{"at a tenth of the rate", `,"rates":{"mail":"10/s"}`, 300 * time.Second},
		{"one call at a time, each of a guessed 100ms", `,"concurrency":{"mail":1},"rates":{"mail":"unlimited"}`, 3200 * time.Millisecond}, // 32 calls: 11 of each full block
	} {
		out := simulate(t, n, `{"bulk_action":"`+b.ID+`"`+tt.what+`}`)
		if !about(out.Takes.P50, tt.want) || out.Finish == nil || !out.Finished || len(out.Steps) != 1 || len(out.Workers) != 1 {
			t.Errorf("%s: %+v, want %v", tt.name, out, tt.want)
		}
		if fmt.Sprint(out.Shares.Tenants) != "[ours]" || len(out.Shares.Points) == 0 {
			t.Errorf("%s: alone it shares with %v", tt.name, out.Shares.Tenants)
		}
	}
	done := n.Until(n.Make(`{"tenant":"ours","steps":[{"action":"mail"}],"deadline":"`+time.Now().Add(time.Hour).UTC().Format(time.RFC3339)+`"}`, `{"id":"u1"}`).ID, api.Completed)
	if out := simulate(t, n, `{"bulk_action":"`+done.ID+`"}`); out.Steps[0].Items != 1 || !strings.Contains(strings.Join(out.Assumptions, "\n"), "It has ended: the simulation runs it again") {
		t.Errorf("of one that has ended: %+v", out)
	}
	other := n.Make(`{"tenant":"theirs","steps":[{"action":"mail"}],"rates":{"mail":"1/s"}}`, items)
	n.Until(other.ID, api.Running)
	n.Eventually("the load of the other", func() bool {
		out := simulate(t, n, `{"bulk_action":"`+b.ID+`","weights":{"theirs":5,"nobody":2}}`)
		return slices.Contains(out.Shares.Tenants, "theirs") && strings.Contains(strings.Join(out.Assumptions, "\n"), `Tenant "nobody" has no work that competes with it`)
	})
	ours := n.As([]access.Scope{access.Read}, "ours")
	out := simulate(t, ours, `{"bulk_action":"`+b.ID+`","weights":{"nobody":2}}`)
	if raw, _ := json.Marshal(out); strings.Contains(string(raw), "theirs") || strings.Contains(string(raw), "nobody") || fmt.Sprint(out.Shares.Tenants) != "[ours others]" {
		t.Errorf("a key of one tenant is shown %s", raw)
	}
	ours.Call("POST", "/v1/simulations", `{"bulk_action":"`+other.ID+`"}`, http.StatusNotFound, nil)
}
