package chain

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/service/registry"
	"github.com/weirhq/weir/internal/service/stored"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store/memstore"
)

// newChains has an action echo.
func newChains(t *testing.T) *Chains {
	t.Helper()
	v, err := vault.New(vault.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	echo := weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{
		Name: "echo",
		Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			b.DoneRest()
			return nil
		},
	})
	a, err := registry.NewActions(t.Context(), registry.Options{
		Store: memstore.New(memstore.Options{}), Guard: egress.New(egress.Policy{}), Vault: v, Steps: []weir.Step{echo},
	})
	if err != nil {
		t.Fatal(err)
	}
	return New(a)
}

func TestAChainIsBuiltFromItsText(t *testing.T) {
	s := newChains(t)
	text, name, err := Text([]stored.Step{
		{ID: "first", Action: "echo", When: "item.amount > 3", Otherwise: "skip"},
		{ID: "second", Action: "echo", Input: map[string]string{"was": "steps.first.output.amount", "of": "params.campaign"}, When: "steps.first.done"},
	}, json.RawMessage(`{"campaign":"spring"}`))
	if err != nil || name != "first+second" {
		t.Fatalf("Text = %q, %v", name, err)
	}
	steps, err := s.Describe(text)
	if err != nil || len(steps) != 2 {
		t.Fatalf("Describe = %v, %v", steps, err)
	}
	if needs := strings.Join(steps[1].Needs, " "); needs != "first" {
		t.Errorf("the second step needs the output of %q, want first", needs)
	}
	task := &weir.Task{Items: []weir.TaskItem{{ID: "a", Data: []byte(`{"amount":5}`)}, {ID: "b", Data: []byte(`{"amount":1}`)}}, Outcomes: make([]weir.Outcome, 2)}
	if err := steps[0].Filter(t.Context(), task); err != nil || task.Outcomes[0].Kind != weir.OutcomeNone || task.Outcomes[1].Kind != weir.OutcomeDone {
		t.Errorf("outcomes = %+v, %v; want b skipped without a call", task.Outcomes, err)
	}
}

func TestEverythingWrongWithTheStepsIsTold(t *testing.T) {
	s := newChains(t)
	for _, tt := range []struct {
		name  string
		steps []stored.Step
		want  string
	}{
		{"none", nil, "missing_field steps"},
		{"an empty list", []stored.Step{}, "no_steps steps"},
		{"too many", make([]stored.Step, weir.MaxSteps+1), "too_many_steps steps"},
		{"unknown action and bad condition", []stored.Step{{Action: "ecoh", When: "item."}}, "unknown_action steps[0].action bad_expression steps[0].when"},
		{"the same id twice", []stored.Step{{Action: "echo"}, {Action: "echo"}}, "duplicate_step steps[1].id"},
		{"good ones", []stored.Step{{Action: "echo"}, {ID: "b", Action: "echo"}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var bad weir.InputError
			s.Check("default", tt.steps, nil, &bad)
			var got []string
			for _, f := range bad.Fields {
				got = append(got, f.Code, f.Field)
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("faults = %q, want %q", got, tt.want)
			}
		})
	}
}
