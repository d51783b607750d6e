package service

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/core/near"
	"github.com/weirhq/weir/internal/edge/mapping"
)

// plan is the stored text of a bulk action's chain: its actions, and how each gets its input. The
// registry resolves the actions at run time.
type plan struct {
	Steps  []planStep      `json:"steps"`
	Params json.RawMessage `json:"params,omitempty"`
	Of     []planStep      `json:"of,omitempty"` // the steps to undo, if the chain is an undo
}

type planStep struct {
	ID        string            `json:"id"`
	Action    string            `json:"action"`
	Input     map[string]string `json:"input,omitempty"`
	When      string            `json:"when,omitempty"`
	Otherwise string            `json:"otherwise,omitempty"`
	Undo      bool              `json:"undo,omitempty"` // the action's undo handler is called
	Of        string            `json:"of,omitempty"`   // the step to undo
}

// planText returns the stored text of a chain, and its name.
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

// Describe builds the steps of a stored chain; see engine.Options.
func (s *Service) Describe(text []byte) ([]weir.Step, error) {
	var p plan
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("chain: %w", err)
	}
	if len(p.Of) > 0 {
		return s.describeUndo(&p)
	}
	var bad weir.InputError
	var out []weir.Step
	c := &course{params: p.Params}
	for i := range p.Steps {
		step, err := s.step(&p.Steps[i], fmt.Sprintf("steps[%d]", i), c)
		if err != nil {
			addFault(&bad, err, "unknown_action", fmt.Sprintf("steps[%d]", i))
		}
		out = append(out, step)
	}
	return out, bad.OrNil()
}

// course holds the steps of a chain built so far, which later steps may refer to.
type course struct {
	names  []string
	steps  []*planStep
	progs  []*mapping.Program
	params []byte
}

// step builds one step of a plan and adds it to the course.
func (s *Service) step(st *planStep, field string, c *course) (weir.Step, error) {
	prog, err := s.programs.compile(mapping.Step{Field: field, Input: st.Input, When: st.When}, c.names)
	before := len(c.names)
	c.names, c.steps, c.progs = append(c.names, st.ID), append(c.steps, st), append(c.progs, prog)
	if err != nil {
		return weir.Step{}, err
	}
	a, err := s.actions.find(st.Action)
	if err != nil {
		return weir.Step{}, s.unknownAction(field+".action", st.Action)
	}
	step := a.step(st.Undo)
	step.Name, step.Action = st.ID, st.Action
	step.Needs = c.needs(before)
	step.Handle, step.Filter = s.handler(c, before), c.filter(before)
	step.Endpoint, step.Input = nil, nil
	return step, nil
}

// needs returns the earlier steps whose outputs step no reads: those its expressions name, and
// those that decide whether a step was skipped.
func (c *course) needs(no int) []string {
	all := slices.Clone(c.progs[no].Needs())
	for _, name := range c.progs[no].NeedsDone() {
		if i := slices.Index(c.names, name); i >= 0 && c.steps[i].Otherwise == "skip" {
			all = append(all, c.needs(i)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// done reports whether an item that has passed step no was called there and not skipped. It
// evaluates the step's condition again, which always gives the same result.
func (c *course) done(no int, in mapping.Item) bool {
	if c.steps[no].Otherwise != "skip" || c.steps[no].When == "" {
		return true
	}
	yes, err := c.progs[no].When(c.about(no, in))
	return err == nil && yes
}

// about returns an item as the expressions of step no see it.
func (c *course) about(no int, in mapping.Item) mapping.Item {
	in.Params = c.params
	in.Done = func(name string) bool {
		i := slices.Index(c.names[:no], name)
		return i >= 0 && c.done(i, in)
	}
	return in
}

// unknownAction refuses an action that does not exist, and lists the actions that every tenant can
// use.
func (s *Service) unknownAction(field, name string) error { return s.unknownTo("", field, name) }

// unknownTo refuses an action that a tenant cannot use, and lists those it can.
func (s *Service) unknownTo(tenant, field, name string) error {
	known := s.actions.namesFor(tenant)
	fix := knownNames(name, known, "no actions exist yet: create one first")
	if name == "" {
		return &weir.FieldError{Code: "unknown_action", Field: field, Problem: "is empty", Fix: fix}
	}
	return &weir.FieldError{Code: "unknown_action", Field: field, Problem: fmt.Sprintf("unknown action %.128q", name), Fix: fix}
}

// knownNames returns the fix for an unknown name: the known names and the closest match. none is
// returned if the list is empty.
func knownNames(name string, known []string, none string) string {
	if len(known) == 0 {
		return none
	}
	fix := "known: " + strings.Join(known[:min(len(known), maxNamed)], ", ")
	if word := near.Word(name, known); word != "" {
		fix = fmt.Sprintf("did you mean %s? %s", word, fix)
	}
	return fix
}

// maxNamed bounds the names in a fix.
const maxNamed = 20

// namesFor lists the actions that a tenant can use. Actions of other tenants stay hidden.
func (r *actions) namesFor(tenant string) []string {
	return slices.DeleteFunc(r.names(), func(name string) bool {
		a, err := r.find(name)
		return err != nil || !a.mayUse(tenant)
	})
}

// checkSteps collects everything that is wrong with the steps of a request.
func (s *Service) checkSteps(tenant string, steps []api.Step, params json.RawMessage, bad *weir.InputError) {
	if steps == nil {
		bad.Add("missing_field", "steps", "is missing", "name at least one action, or a template")
		return
	}
	if len(steps) == 0 {
		bad.Add("no_steps", "steps", "is empty", `write at least one, as in {"action": "send-message"}`)
		return
	}
	if len(steps) > weir.MaxSteps {
		bad.Add("too_many_steps", "steps", fmt.Sprintf("%d steps are more than the maximum of %d", len(steps), weir.MaxSteps), "split the chain")
		return
	}
	if len(params) > 0 && !isObject(params) {
		bad.Add("bad_json", "params", "is not a JSON object", `write it as in {"campaign": "spring"}`)
	}
	var earlier []string
	for i, st := range steps {
		s.checkStep(tenant, fmt.Sprintf("steps[%d]", i), st, earlier, bad)
		earlier = append(earlier, stepID(st))
	}
}

func (s *Service) checkStep(tenant, field string, st api.Step, earlier []string, bad *weir.InputError) {
	if id := stepID(st); slices.Contains(earlier, id) {
		bad.Add("duplicate_step", field+".id", fmt.Sprintf("%q is used twice", id), "give each step an id of its own")
	}
	a, err := s.actions.find(st.Action)
	switch {
	case err != nil || !a.mayUse(tenant): // another tenant's action looks like a missing one
		addFault(bad, s.unknownTo(tenant, field+".action", st.Action), "unknown_action", field)
	case a.Disabled:
		bad.Add("action_disabled", field+".action", fmt.Sprintf("%q is disabled", st.Action), "ask its operator, or choose another action")
	}
	if _, err := s.programs.compile(mapping.Step{Field: field, Input: st.Input, When: st.When}, earlier); err != nil {
		addFault(bad, err, mapping.BadExpression, field)
	}
}

func isObject(raw []byte) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal(raw, &m) == nil && m != nil
}
