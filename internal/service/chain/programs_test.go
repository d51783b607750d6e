package chain

import (
	"fmt"
	"testing"

	"github.com/weirhq/weir/internal/edge/mapping"
)

func TestBulkActionsWithTheSameExpressionsShareWhatWasCompiled(t *testing.T) {
	var p programs
	compile := func(st mapping.Step, earlier ...string) *mapping.Program {
		t.Helper()
		prog, err := p.compile(st, earlier)
		if err != nil {
			t.Fatal(err)
		}
		return prog
	}
	step := mapping.Step{Field: "steps[0]", Input: map[string]string{"to": "item.mail", "of": "params.campaign"}, When: "item.amount > 3"}
	first := compile(step)
	if again := compile(step); again != first {
		t.Error("the same step was compiled twice")
	}
	for what, other := range map[string]*mapping.Program{
		"condition": compile(mapping.Step{Field: step.Field, Input: step.Input, When: "item.amount > 4"}),
		"input":     compile(mapping.Step{Field: step.Field, Input: map[string]string{}, When: step.When}),
		"no input":  compile(mapping.Step{Field: step.Field, When: step.When}),
		"field":     compile(mapping.Step{Field: "steps[1]", Input: step.Input, When: step.When}),
		"steps":     compile(step, "award"),
	} {
		if other == first {
			t.Errorf("a step with another %s shares what was compiled", what)
		}
	}
	if _, err := p.compile(mapping.Step{When: "item."}, nil); err == nil {
		t.Error("an expression that cannot be read was compiled")
	}
	for i := range 2 * mostPrograms {
		compile(mapping.Step{When: fmt.Sprintf("item.amount > %d", i)})
	}
	if len(p.kept) > mostPrograms {
		t.Errorf("%d compiled steps are kept, want at most %d", len(p.kept), mostPrograms)
	}
}
