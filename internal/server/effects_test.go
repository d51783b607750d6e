package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/testkit/nodetest"
)

// TestAChangedLimitHasTheEffectThatWasShown: the measured end is bound by what cannot be otherwise,
// since the rate holds, and is nearer to the end that was predicted than to the end without the change.
func TestAChangedLimitHasTheEffectThatWasShown(t *testing.T) {
	step := operated("award")
	step.Resource, step.BatchSize = weir.Resource{Name: "award", Rate: 50}, 10
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{step}})
	b := n.Make(`{"tenant":"acme","steps":[{"action":"award"}],"start":true}`, rows(2_000, func(i int) string { return fmt.Sprintf(`{"id":"u%d"}`, i) }))
	n.Eventually("calls are measured", func() bool {
		var p api.Progress
		n.Call("GET", "/v1/bulk-actions/"+b.ID+"/progress", "", 200, &p)
		return p.Counts.Done > 50
	})
	const changed = `{"rate":"400/s"}`
	var e api.Effect
	n.Call("POST", "/v1/effects", `{"resources":{"award":`+changed+`}}`, 200, &e)
	if len(e.BulkActions) != 1 || e.LeftOut != 0 {
		t.Fatalf("effect %+v, want one bulk action", e)
	}
	x := e.BulkActions[0]
	now, then := x.Ends.Sub(e.At), x.Then.Sub(e.At)
	if x.ID != b.ID || x.Tenant != "acme" || now < 30*time.Second || now > 50*time.Second || then < 3*time.Second || then > 10*time.Second ||
		!strings.HasSuffix(x.Text, " earlier") {
		t.Errorf("%+v: %v now, %v then; want about 38 s and 5 s", x, now, then)
	}
	var r api.ResourceStatus
	n.Call("GET", "/v1/resources/award", "", 200, &r)
	if r.Rate != 50 {
		t.Errorf("the question changed the rate to %v", r.Rate)
	}
	n.Call("PUT", "/v1/resources/award", changed, 200, nil)
	n.Eventually("it has ended", func() bool {
		n.Call("GET", "/v1/bulk-actions/"+b.ID, "", 200, &b)
		return b.State == api.Completed
	})
	took := b.FinishedAt.Sub(e.At)
	t.Logf("predicted %v, and %v without the change; measured %v", then, now, took)
	if least := time.Duration(float64(x.Items) / 400 * 1e9 / 2); took < least {
		t.Errorf("it took %v more, less than the rate allows", took)
	}
	if took-then > now-took {
		t.Errorf("it ended after %v; predicted %v, and %v without the change", took, then, now)
	}
}

func TestAnEffectIsOfWeightsAndOwnRatesToo(t *testing.T) {
	gate := newGate()
	step := gate.step("award")
	step.Resource, step.BatchSize = weir.Resource{Name: "award", Rate: 100}, 10
	n := nodetest.Start(t, nodetest.Options{Steps: []weir.Step{step}})
	defer gate.open()
	items := rows(3_000, func(i int) string { return fmt.Sprintf(`{"id":"u%d"}`, i) })
	a := n.Make(`{"tenant":"acme","steps":[{"action":"award"}],"start":true}`, items)
	b := n.Make(`{"tenant":"crm","steps":[{"action":"award"}],"start":true}`, items)
	ask := func(body string) map[string]api.EffectOn {
		var e api.Effect
		n.Call("POST", "/v1/effects", body, 200, &e)
		out := map[string]api.EffectOn{}
		for _, x := range e.BulkActions {
			out[x.ID] = x
		}
		return out
	}
	n.Eventually("both run", func() bool { return len(ask(`{"weights":{"acme":9}}`)) == 2 })
	if e := ask(`{"weights":{"acme":9}}`); !strings.HasSuffix(e[a.ID].Text, " earlier") || strings.HasSuffix(e[b.ID].Text, " earlier") {
		t.Errorf("with more weight: %q, and the other %q", e[a.ID].Text, e[b.ID].Text)
	}
	if e := ask(`{"rates":{"` + a.ID + `":{"award":"5/s"}}}`); !strings.HasSuffix(e[a.ID].Text, " later") || !strings.HasSuffix(e[b.ID].Text, " earlier") {
		t.Errorf("with a rate of its own: %q, and the other %q", e[a.ID].Text, e[b.ID].Text)
	}
	for bad, status := range map[string]int{`{}`: 422, `{"resources":{"nope":{"rate":"1/s"}}}`: 422, `{"weights":{"acme":0}}`: 422,
		`{"rates":{"ba_x":{"award":"1/s"}}}`: 404, `{"rates":{"` + a.ID + `":{"nope":"1/s"}}}`: 422} {
		n.Call("POST", "/v1/effects", bad, status, nil)
	}
}
