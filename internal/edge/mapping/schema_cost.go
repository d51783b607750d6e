package mapping

import (
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// turns returns how often a schema checks the same value, over every path through it.
func turns(s *jsonschema.Schema, seen map[*jsonschema.Schema]int) int {
	if s == nil {
		return 0
	}
	if n, ok := seen[s]; ok {
		return n
	}
	seen[s] = 0 // a circle is found when it is used
	n := 1
	for _, h := range inPlace(s) {
		n = min(n+turns(h, seen), mostTurns+1)
	}
	worst := n
	for _, below := range children(s) {
		worst = max(worst, turns(below, seen))
	}
	seen[s] = n
	if worst > mostTurns {
		return worst
	}
	return n
}

// inPlace returns the schemas that check the same value as s.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	out := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}
	if s.DynamicRef != nil {
		out = append(out, s.DynamicRef.Ref)
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		out = append(out, list...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.DependentSchemas)) {
		out = append(out, s.DependentSchemas[name])
	}
	return slices.DeleteFunc(out, func(x *jsonschema.Schema) bool { return x == nil })
}

// children returns the schemas of parts of a value.
func children(s *jsonschema.Schema) []*jsonschema.Schema {
	out := []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems}
	out = append(out, s.PrefixItems...)
	for _, p := range s.Properties { // order does not reach the maximum
		out = append(out, p)
	}
	for _, p := range s.PatternProperties { // order does not reach the maximum
		out = append(out, p)
	}
	for _, x := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		switch x := x.(type) {
		case *jsonschema.Schema:
			out = append(out, x)
		case []*jsonschema.Schema:
			out = append(out, x...)
		}
	}
	return out
}

// multiplies reports whether a schema checks itself twice, or more often, for the same part of
// a value. Each level of a document would then multiply the work. known is false if the schema
// is too large to find out.
func multiplies(root *jsonschema.Schema) (again, known bool) {
	w := &walk{left: mostParts, kids: map[*jsonschema.Schema]parts{}, circle: map[*jsonschema.Schema]int{},
		low: map[*jsonschema.Schema]int{}}
	if w.visit(root); w.left < 0 {
		return false, false
	}
	for s, kids := range w.kids { // order does not reach the answer
		for _, list := range kids { // order does not reach the answer
			times := 0
			for _, k := range list {
				if w.circle[k] == w.circle[s] {
					times++
				}
			}
			again = again || times > 1
		}
	}
	return again, true
}

// parts holds the schemas of the parts of a value, by part: a name, or a place in a list.
type parts map[string][]*jsonschema.Schema

// walk finds the circles of a schema: its strongly connected components, by Tarjan.
type walk struct {
	kids   map[*jsonschema.Schema]parts
	low    map[*jsonschema.Schema]int // order of the visit, or of the earliest one on the way that it leads back to
	circle map[*jsonschema.Schema]int // number of its component, from 1
	stack  []*jsonschema.Schema
	seen   int
	last   int
	left   int // of the work
}

func (w *walk) visit(s *jsonschema.Schema) {
	w.seen++
	at := w.seen
	w.low[s] = at
	w.stack = append(w.stack, s)
	w.kids[s] = w.partsOf(s)
	for _, list := range w.kids[s] { // order does not reach the components
		for _, k := range list {
			if w.low[k] == 0 {
				w.visit(k)
			}
			if w.circle[k] == 0 {
				w.low[s] = min(w.low[s], w.low[k])
			}
		}
	}
	if w.low[s] < at {
		return
	}
	w.last++
	for {
		top := w.stack[len(w.stack)-1]
		w.stack = w.stack[:len(w.stack)-1]
		w.circle[top] = w.last
		if top == s {
			return
		}
	}
}

// anyPart stands for parts that no schema names.
const anyPart = "*"

// partsOf returns, by part, the schemas that s and all others for the same value apply to it.
func (w *walk) partsOf(s *jsonschema.Schema) parts {
	out := parts{}
	whole := together(s)
	names := map[string]bool{anyPart: true}
	for _, c := range whole {
		for name := range c.Properties { // order does not reach the result
			names[name] = true
		}
	}
	if w.left -= len(whole) * (1 + len(names)); w.left < 0 {
		return out
	}
	for name := range names { // order does not reach the result
		for _, c := range whole {
			out["."+name] = append(out["."+name], named(c, name)...)
		}
	}
	for _, c := range whole {
		out["[]"] = append(out["[]"], elements(c)...)
	}
	return out
}

// together returns s and all schemas that check the same value, as often as they do. The list
// is short, since turns has bounded it.
func together(s *jsonschema.Schema) (out []*jsonschema.Schema) {
	way := map[*jsonschema.Schema]bool{}
	var add func(*jsonschema.Schema)
	add = func(s *jsonschema.Schema) {
		if way[s] {
			return // a circle is found when it is used
		}
		way[s] = true
		out = append(out, s)
		for _, h := range inPlace(s) {
			add(h)
		}
		way[s] = false
	}
	add(s)
	return out
}

// named returns the schemas that c itself applies to a member.
func named(c *jsonschema.Schema, name string) (out []*jsonschema.Schema) {
	if p := c.Properties[name]; p != nil {
		out = append(out, p)
	}
	for re, p := range c.PatternProperties { // order does not reach the number
		if re.MatchString(name) {
			out = append(out, p)
		}
	}
	for _, x := range []any{c.AdditionalProperties, c.UnevaluatedProperties} {
		if s, ok := x.(*jsonschema.Schema); ok && s != nil && len(out) == 0 {
			out = append(out, s)
		}
	}
	return out
}

// elements returns the schemas that c itself applies to an element of a list.
func elements(c *jsonschema.Schema) (out []*jsonschema.Schema) {
	for _, x := range []any{c.Items, c.AdditionalItems, c.Items2020, c.UnevaluatedItems} {
		if s, ok := x.(*jsonschema.Schema); ok && s != nil && len(out) == 0 {
			out = append(out, s)
		}
	}
	if c.Contains != nil {
		out = append(out, c.Contains)
	}
	return out
}
