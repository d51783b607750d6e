package service

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/mapping"
)

// plan is the text of a chain as it is stored with a bulk action: which actions,
// and how each gets its input. What an action is, the registry says at the time.
type plan struct {
	Steps  []planStep      `json:"steps"`
	Params json.RawMessage `json:"params,omitempty"`
}

type planStep struct {
	ID        string            `json:"id"`
	Action    string            `json:"action"`
	Input     map[string]string `json:"input,omitempty"`
	When      string            `json:"when,omitempty"`
	Otherwise string            `json:"otherwise,omitempty"`
	Undo      bool              `json:"undo,omitempty"` // the action's undo handler is called
}

// planText makes the stored text of a chain, and its name.
func planText(steps []api.Step, params json.RawMessage) (text json.RawMessage, name string, err error) {
	p := plan{Params: params}
	var names []string
	for _, st := range steps {
		id := stepID(st)
		p.Steps = append(p.Steps, planStep{ID: id, Action: st.Action, Input: st.Input, When: st.When, Otherwise: st.Otherwise})
		names = append(names, id)
	}
	text, err = json.Marshal(&p)
	name = strings.Join(names, "+")
	return text, name[:min(len(name), 128)], err
}

func stepID(s api.Step) string {
	if s.ID != "" {
		return s.ID
	}
	return s.Action
}

// Describe makes the steps of a stored chain; see engine.Options.
func (s *Service) Describe(text []byte) ([]weir.Step, error) {
	var p plan
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("chain: %w", err)
	}
	var bad weir.InputError
	var out []weir.Step
	var earlier []string
	for i := range p.Steps {
		step, err := s.step(&p, i, earlier)
		if fault := (*weir.FieldError)(nil); err != nil && !asField(err, &fault) {
			return nil, err
		} else if fault != nil {
			bad.Fields = append(bad.Fields, fault)
		}
		out = append(out, step)
		earlier = append(earlier, p.Steps[i].ID)
	}
	return out, bad.OrNil()
}

func asField(err error, to **weir.FieldError) bool {
	f, ok := err.(*weir.FieldError)
	*to = f
	return ok
}

// step makes one step of a plan.
func (s *Service) step(p *plan, i int, earlier []string) (weir.Step, error) {
	st := &p.Steps[i]
	field := fmt.Sprintf("steps[%d]", i)
	a, err := s.actions.find(st.Action)
	if err != nil {
		return weir.Step{}, s.unknownAction(field+".action", st.Action)
	}
	step := a.step(st.Undo)
	step.Name, step.Action = st.ID, st.Action
	prog, err := mapping.Compile(mapping.Step{Field: field, Input: st.Input, When: st.When}, earlier)
	if err != nil {
		return step, err
	}
	step.Needs = prog.Needs()
	step.Handle = s.handler(st, p.Params, prog)
	step.Endpoint, step.Input = nil, nil
	return step, nil
}

func (s *Service) unknownAction(field, name string) error {
	known := s.actions.names()
	fix := "known: " + strings.Join(known, ", ")
	if near := nearest(name, known); near != "" {
		fix = fmt.Sprintf("did you mean %s? %s", near, fix)
	}
	if name == "" {
		return &weir.FieldError{Code: "unknown_action", Field: field, Problem: "is empty", Fix: fix}
	}
	return &weir.FieldError{Code: "unknown_action", Field: field, Problem: fmt.Sprintf("there is no action %q", name), Fix: fix}
}

// nearest is the name that was probably meant, or empty.
func nearest(name string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		if d := distance(name, k, least); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is how many letters differ, as far as it is less than most.
func distance(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}

// checkSteps says everything that is wrong with the steps of a request.
func (s *Service) checkSteps(tenant string, steps []api.Step, params json.RawMessage, bad *weir.InputError) {
	if len(steps) == 0 {
		bad.Add("no_steps", "steps", "there are none", `write at least one, as in {"action": "send-message"}`)
		return
	}
	if len(steps) > weir.MaxSteps {
		bad.Add("too_many_steps", "steps", fmt.Sprintf("%d are more than %d", len(steps), weir.MaxSteps), "split the chain")
		return
	}
	if len(params) > 0 && !isObject(params) {
		bad.Add("bad_json", "params", "is no JSON object", `write it as in {"campaign": "spring"}`)
	}
	var earlier []string
	for i, st := range steps {
		s.checkStep(tenant, fmt.Sprintf("steps[%d]", i), st, earlier, bad)
		earlier = append(earlier, stepID(st))
	}
}

func (s *Service) checkStep(tenant, field string, st api.Step, earlier []string, bad *weir.InputError) {
	if id := stepID(st); slices.Contains(earlier, id) {
		bad.Add("duplicate_step", field+".id", fmt.Sprintf("%q is there twice", id), "give each step an id of its own")
	}
	a, err := s.actions.find(st.Action)
	switch {
	case err != nil || !a.mayUse(tenant): // one of another tenant is as if there were none
		if f := (*weir.FieldError)(nil); asField(s.unknownAction(field+".action", st.Action), &f) {
			bad.Fields = append(bad.Fields, f)
		}
	case a.Disabled:
		bad.Add("action_disabled", field+".action", fmt.Sprintf("%q is switched off", st.Action), "ask whoever operates it, or choose another")
	}
	_, err = mapping.Compile(mapping.Step{Field: field, Input: st.Input, When: st.When}, earlier)
	if f := (*weir.FieldError)(nil); err != nil && asField(err, &f) {
		bad.Fields = append(bad.Fields, f)
	} else if err != nil {
		bad.Add(mapping.BadExpression, field, err.Error(), "see the documentation of expressions")
	}
}

func isObject(raw []byte) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal(raw, &m) == nil && m != nil
}
