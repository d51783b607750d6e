package chain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/edge/mapping"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/registry"
	"github.com/weirhq/weir/internal/service/stored"
)

// Chains builds the steps of chains from the actions of the registry.
type Chains struct {
	actions  *registry.Actions
	programs programs
	plans    plans
}

// New returns the chains of a registry.
func New(a *registry.Actions) *Chains { return &Chains{actions: a} }

// Plan is the stored text of a bulk action's chain: its actions, and how each gets its input. The
// registry resolves the actions at run time.
type Plan struct {
	Steps  []Step          `json:"steps"`
	Params json.RawMessage `json:"params,omitempty"`
	Of     []Step          `json:"of,omitempty"` // the steps to undo, if the chain is an undo
}

type Step struct {
	ID        string            `json:"id"`
	Action    string            `json:"action"`
	Input     map[string]string `json:"input,omitempty"`
	When      string            `json:"when,omitempty"`
	Otherwise string            `json:"otherwise,omitempty"`
	Undo      bool              `json:"undo,omitempty"` // the action's undo handler is called
	Of        string            `json:"of,omitempty"`   // the step to undo
}

// Text returns the stored text of a chain, and its name.
func Text(steps []stored.Step, params json.RawMessage) (text json.RawMessage, name string, err error) {
	p := Plan{Params: params}
	for _, st := range steps {
		p.Steps = append(p.Steps, stepOf(&st))
	}
	text, err = json.Marshal(&p)
	name = strings.Join(stored.Names(steps), "+")
	return text, name[:min(len(name), 128)], err
}

// stepOf returns a requested step as it is stored.
func stepOf(st *stored.Step) Step {
	return Step{ID: st.Name(), Action: st.Action, Input: st.Input, When: st.When, Otherwise: st.Otherwise}
}

// Describe builds the steps of a stored chain; see engine.Options.
func (s *Chains) Describe(text []byte) ([]weir.Step, error) {
	p, err := s.plans.read(text)
	if err != nil {
		return nil, fmt.Errorf("chain: %w", err)
	}
	if len(p.Of) > 0 {
		return s.describeUndo(p)
	}
	var bad weir.InputError
	var out []weir.Step
	c := &Course{params: p.Params}
	for i := range p.Steps {
		step, err := s.step(&p.Steps[i], fmt.Sprintf("steps[%d]", i), c)
		if err != nil {
			check.Add(&bad, err, "unknown_action", fmt.Sprintf("steps[%d]", i))
		}
		out = append(out, step)
	}
	return out, bad.OrNil()
}

// Course holds the steps of a chain built so far, which later steps may refer to.
type Course struct {
	names  []string
	steps  []*Step
	progs  []*mapping.Program
	params []byte
}

// step builds one step of a plan and adds it to the course.
func (s *Chains) step(st *Step, field string, c *Course) (weir.Step, error) {
	prog, err := s.programs.compile(mapping.Step{Field: field, Input: st.Input, When: st.When}, c.names)
	before := len(c.names)
	c.names, c.steps, c.progs = append(c.names, st.ID), append(c.steps, st), append(c.progs, prog)
	if err != nil {
		return weir.Step{}, err
	}
	a, err := s.actions.Find(st.Action)
	if err != nil {
		return weir.Step{}, s.actions.Unknown(field+".action", st.Action)
	}
	step := a.Step(st.Undo)
	step.Name, step.Action = st.ID, st.Action
	step.Needs = c.needs(before)
	step.Handle, step.Filter = s.handler(c, before), c.filter(before)
	step.Endpoint, step.Input = nil, nil
	return step, nil
}

// Open builds the steps of a request.
func (s *Chains) Open(steps []stored.Step, params []byte) (*Course, error) {
	c := &Course{params: params}
	for i := range steps {
		st := stepOf(&steps[i])
		if _, err := s.step(&st, fmt.Sprintf("steps[%d]", i), c); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Input returns the input of step no for an item, or how the item ends without a call.
func (c *Course) Input(no int, it mapping.Item) ([]byte, weir.Outcome) {
	return input(c.steps[no], c.progs[no], c.about(no, it))
}

// needs returns the earlier steps whose outputs step no reads: those its expressions name, and
// those that decide whether a step was skipped.
func (c *Course) needs(no int) []string {
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
func (c *Course) done(no int, in mapping.Item) bool {
	if c.steps[no].Otherwise != "skip" || c.steps[no].When == "" {
		return true
	}
	yes, err := c.progs[no].When(c.about(no, in))
	return err == nil && yes
}

// about returns an item as the expressions of step no see it.
func (c *Course) about(no int, in mapping.Item) mapping.Item {
	in.Params = c.params
	in.Done = func(name string) bool {
		i := slices.Index(c.names[:no], name)
		return i >= 0 && c.done(i, in)
	}
	return in
}

// Check collects everything that is wrong with the steps of a request.
func (s *Chains) Check(tenant string, steps []stored.Step, params json.RawMessage, bad *weir.InputError) {
	if steps == nil {
		bad.Add("missing_field", "steps", "is missing", "name at least one action, or a template")
		return
	}
	if len(steps) == 0 {
		bad.Add("no_steps", "steps", "is empty", `write at least one, as in {"action": "send-message"}`)
		return
	}
	if len(steps) > weir.MaxSteps {
		bad.Add("too_many_steps", "steps", fmt.Sprintf("%d steps are more than the maximum of %d", len(steps),
			weir.MaxSteps), "split the chain")
		return
	}
	if len(params) > 0 && !isObject(params) {
		bad.Add("bad_json", "params", "is not a JSON object", `write it as in {"campaign": "spring"}`)
	}
	var earlier []string
	for i, st := range steps {
		s.checkStep(tenant, fmt.Sprintf("steps[%d]", i), st, earlier, bad)
		earlier = append(earlier, st.Name())
	}
}

func (s *Chains) checkStep(tenant, field string, st stored.Step, earlier []string, bad *weir.InputError) {
	if id := st.Name(); slices.Contains(earlier, id) {
		bad.Add("duplicate_step", field+".id", fmt.Sprintf("%q is used twice", id), "give each step an id of its own")
	}
	a, err := s.actions.Find(st.Action)
	switch {
	case err != nil || !a.MayUse(tenant): // another tenant's action looks like a missing one
		check.Add(bad, s.actions.UnknownTo(tenant, field+".action", st.Action), "unknown_action", field)
	case a.Disabled:
		bad.Add("action_disabled", field+".action", fmt.Sprintf("%q is disabled", st.Action),
			"ask its operator, or choose another action")
	}
	if _, err := s.programs.compile(mapping.Step{Field: field, Input: st.Input, When: st.When}, earlier); err != nil {
		check.Add(bad, err, mapping.BadExpression, field)
	}
}

func isObject(raw []byte) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal(raw, &m) == nil && m != nil
}
