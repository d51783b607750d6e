package client_test

import (
	"encoding/json"
	"testing"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/client"
)

func TestATemplateIsMadeUsedSimulatedChangedAndRemoved(t *testing.T) {
	c, ctx := real(t), t.Context()
	made, err := c.Templates().Put(ctx, "spring", api.Template{
		Title:      "Spring",
		Params:     []api.TemplateParam{{Name: "n", Type: "integer", Required: true}},
		BulkAction: api.NewBulkAction{Steps: []api.Step{{Action: "picky", Input: map[string]string{"n": "params.n"}}}},
	})
	if err != nil || made.Version == "" {
		t.Fatalf("%+v, %v", made, err)
	}
	if _, err := c.Create(ctx, api.NewBulkAction{Template: "spring"}); !client.IsCode(err, "missing_field") {
		t.Errorf("without its parameter: %v", err)
	}
	b, err := c.Create(ctx, api.NewBulkAction{Template: "spring", Params: json.RawMessage(`{"n":3}`), Items: []api.Item{{ID: "u1"}}})
	if err != nil || b.Template == nil || b.Template.Version != made.Version || b.Name != "Spring" {
		t.Fatalf("made %+v, %v", b, err)
	}
	out, err := c.Simulate(ctx, api.Simulation{BulkAction: b.ID, Rates: map[string]api.Rate{"picky": 5}})
	if err != nil || len(out.Steps) != 1 || len(out.Shares.Tenants) != 1 {
		t.Errorf("simulated %+v, %v", out, err)
	}
	changed, err := c.Templates().Change(ctx, "spring", func(t *api.Template) error { t.Description = "every year"; return nil })
	if err != nil || changed.Description != "every year" || changed.Title != "Spring" || changed.Version == made.Version {
		t.Errorf("changed to %+v, %v", changed, err)
	}
	for name, want := range map[string]int{"spring": 1, "autumn": 0} {
		found := 0
		for _, err := range c.List(ctx, client.Filter{Template: name}) {
			if err != nil {
				t.Fatal(err)
			}
			found++
		}
		if found != want {
			t.Errorf("%d bulk actions of %s, want %d", found, name, want)
		}
	}
	if err := c.Templates().Delete(ctx, "spring"); err != nil {
		t.Error(err)
	}
	if _, err := c.Templates().Get(ctx, "spring"); !client.IsCode(err, "not_found") {
		t.Errorf("after its removal: %v", err)
	}
	if err := drain(c.Templates().List(ctx)); err != nil {
		t.Error(err)
	}
}
