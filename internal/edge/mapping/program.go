package mapping

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weirhq/weir"
)

// Step holds the expressions of one step of a bulk action.
type Step struct {
	// Field is the position in errors, as in steps[1]. Default: step.
	Field string
	// Input holds an expression for each member of the action's input. Default: the item's
	// document unchanged.
	Input map[string]string
	// When is the condition for doing the step for an item. Default: always.
	When string
}

// Item holds what the expressions of a step see.
type Item struct {
	ID string
	// Data is its document, empty for null.
	Data []byte
	// Params are the parameters of the bulk action, a JSON object or empty.
	Params []byte
	// Outputs returns the answer of an earlier step, nil if there is none. It is called only
	// for the steps of [Program.Needs]. Default: no answers.
	Outputs func(step string) []byte
	// Done reports whether an earlier step was done. Default: it was.
	Done func(step string) bool
}

// Program holds the compiled expressions of a step.
type Program struct {
	root    string      // the name of the document
	when    *expression // nil: always
	members []member    // nil: the document unchanged
	input   uses        // of all members that are not paths
	want    []string    // members of the document that are read
	outputs []string
	done    []string
}

type member struct {
	name []byte // as JSON
	*expression
}

// Compile compiles a step, whose expressions may refer to the steps before it. The error is a
// *weir.InputError that lists everything that is wrong.
func Compile(s Step, earlier []string) (*Program, error) {
	if s.Field == "" {
		s.Field = "step"
	}
	var errs weir.InputError
	p := &Program{root: nameItem}
	sc := stepScope(earlier)
	if s.When != "" {
		p.when = sc.add(&errs, s.Field+".when", s.When, true)
	}
	if s.Input != nil {
		p.members = sc.mapping(&errs, s.Field+".input", s.Input)
	}
	if err := errs.OrNil(); err != nil {
		return nil, err
	}
	p.sum()
	return p, nil
}

func (s *scope) add(errs *weir.InputError, field, text string, condition bool) *expression {
	e, err := s.compile(field, text, condition)
	if err != nil {
		errs.Fields = append(errs.Fields, err)
	}
	return e
}

// mapping compiles the members of an object, in the order of their names.
func (s *scope) mapping(errs *weir.InputError, field string, texts map[string]string) []member {
	out := []member{}
	if len(texts) > MaxMembers {
		errs.Add("out_of_range", field, fmt.Sprintf("has %d members", len(texts)), fmt.Sprintf("%d are the most", MaxMembers))
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		quoted, err := jsontext.AppendQuote(nil, name)
		if err != nil || name == "" || len(name) > MaxName {
			errs.Add(s.code, field, fmt.Sprintf("%q cannot be the name of a member", name),
				fmt.Sprintf("use 1 to %d bytes of UTF-8", MaxName))
			continue
		}
		out = append(out, member{quoted, s.add(errs, field+"."+name, texts[name], false)})
	}
	return out
}

// sum adds up what the expressions need.
func (p *Program) sum() {
	p.input = newUses()
	all := newUses()
	for _, m := range p.members {
		all.add(m.uses)
		if m.path == nil {
			p.input.add(m.uses)
		}
	}
	if p.when != nil {
		all.add(p.when.uses)
	}
	p.want, p.outputs, p.done = names(all.members), names(all.outputs), names(all.done)
}

func names(of map[string]bool) []string { return slices.Sorted(maps.Keys(of)) }

func (u *uses) add(v uses) {
	u.whole, u.params, u.output = u.whole || v.whole, u.params || v.params, u.output || v.output
	maps.Copy(u.members, v.members)
	maps.Copy(u.outputs, v.outputs)
	maps.Copy(u.done, v.done)
}

// Needs lists the earlier steps whose outputs the expressions use, sorted.
func (p *Program) Needs() []string { return slices.Clone(p.outputs) }

// Reads lists the members of the item that the expressions read, sorted.
func (p *Program) Reads() []string { return slices.Clone(p.want) }

// Column returns the member of the item that a member of the input is made of, empty if it is made of none or of several.
func (p *Program) Column(name string) string {
	for _, m := range p.members {
		if of, err := jsontext.AppendUnquote(nil, m.name); err == nil && string(of) == name && len(m.uses.members) == 1 && !m.uses.whole {
			return names(m.uses.members)[0]
		}
	}
	return ""
}

// MayFail reports whether the expressions can fail for some items: members of the item and its id are always there, if only
// as null.
func (p *Program) MayFail() bool {
	return p.when != nil || slices.ContainsFunc(p.members, func(m member) bool {
		plain := m.path != nil && len(m.path.keys) <= 1
		return !plain && strings.TrimSpace(m.text) != nameID
	})
}

// NeedsDone lists the earlier steps whose done the expressions use, sorted.
func (p *Program) NeedsDone() []string { return slices.Clone(p.done) }

// When reports whether the step should be done for an item. The error is an *ItemError.
func (p *Program) When(it Item) (bool, error) {
	if p.when == nil {
		return true, nil
	}
	doc, err := open(it.Data, p.want)
	if err != nil {
		return false, p.when.failed(err)
	}
	env, err := p.env(it, doc, p.when.uses)
	if err != nil {
		return false, p.when.failed(err)
	}
	v, err := p.when.eval(env)
	if err != nil {
		return false, err
	}
	return v.(bool), nil // the machine has checked
}

// Input returns the JSON input of the action for an item. The error is an *ItemError.
func (p *Program) Input(it Item) ([]byte, error) {
	if p.members == nil {
		return it.Data, nil
	}
	return p.object(it, func(root string, step bool) []byte {
		switch {
		case step:
			return it.output(root)
		case root == nameParams:
			return it.Params
		}
		return it.Data
	})
}

// object writes the members; other returns the documents, beside the item's own, that paths
// lead into.
func (p *Program) object(it Item, other func(root string, step bool) []byte) ([]byte, error) {
	if len(p.members) == 0 {
		return []byte("{}"), nil
	}
	doc, err := open(it.Data, p.want)
	if err != nil {
		return nil, p.members[0].failed(err)
	}
	var env map[string]any
	out := append(make([]byte, 0, 256), '{')
	for i, m := range p.members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, m.name...), ':')
		if m.path == nil && env == nil {
			if env, err = p.env(it, doc, p.input); err != nil {
				return nil, m.failed(err)
			}
		}
		if out, err = m.write(out, env, doc, other); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

// write appends the value of a member.
func (m member) write(out []byte, env map[string]any, doc document, other func(string, bool) []byte) ([]byte, error) {
	if m.path == nil {
		v, err := m.eval(env)
		if err != nil {
			return nil, err
		}
		if out, err = appendJSON(out, v); err != nil {
			return nil, m.failed(err)
		}
		return out, nil
	}
	if m.path.step || m.path.root == nameParams {
		doc = document{raw: other(m.path.root, m.path.step)}
	}
	raw, err := doc.at(m.path.keys)
	switch {
	case err != nil:
		return nil, m.failed(err)
	case len(raw) == 0:
		return append(out, "null"...), nil
	case len(out)+len(raw) > MaxResult:
		return nil, m.failed(errTooLarge)
	case len(m.path.keys) == 0 && !jsontext.Value(raw).IsValid(lenient):
		return nil, m.failed(errNotJSON) // it was not checked before
	}
	return append(out, raw...), nil
}

func (it Item) output(step string) []byte {
	if it.Outputs == nil {
		return nil
	}
	return it.Outputs(step)
}

// env returns what expressions see, as far as they use it.
func (p *Program) env(it Item, doc document, u uses) (_ map[string]any, err error) {
	env := map[string]any{nameRun: &run{left: Budget}, nameID: it.ID}
	if u.whole {
		env[p.root], err = value(it.Data)
	} else if len(u.members) > 0 {
		env[p.root], err = doc.part(u.members)
	}
	if err == nil && u.params {
		env[nameParams], err = value(it.Params)
	}
	if err == nil && len(u.outputs)+len(u.done) > 0 {
		env[nameSteps], err = it.steps(u)
	}
	if err != nil {
		return nil, errNotJSON
	}
	return env, nil
}

func (it Item) steps(u uses) (map[string]any, error) {
	out := make(map[string]any, len(u.outputs))
	for name := range u.done { // order does not reach the result
		out[name] = map[string]any{"done": it.Done == nil || it.Done(name)}
	}
	for name := range u.outputs { // order does not reach the result
		v, err := value(it.output(name))
		if err != nil {
			return nil, err
		}
		if step, ok := out[name].(map[string]any); ok {
			step["output"] = v
		} else {
			out[name] = map[string]any{"output": v}
		}
	}
	return out, nil
}
