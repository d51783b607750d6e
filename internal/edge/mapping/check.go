package mapping

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
)

// fault is an error at a position of an expression.
type fault struct {
	at           file.Location
	problem, fix string
}

// uses lists what an expression needs of an item.
type uses struct {
	// members of the document, or all of it.
	members map[string]bool
	whole   bool
	params  bool
	outputs map[string]bool
	done    map[string]bool
	// output is that of an item of a report.
	output bool
}

func newUses() uses {
	return uses{members: map[string]bool{}, outputs: map[string]bool{}, done: map[string]bool{}}
}

// check inspects an expression for everything that the type checker does not know: names,
// steps, functions and patterns. It records what is used.
type check struct {
	scope  *scope
	uses   uses
	faults []fault
	lets   map[string]bool
	// bound holds the nodes that were found as the left side of a member; the others stand for
	// themselves.
	bound  map[ast.Node]bool
	idents []*ast.IdentifierNode
	steps  []*ast.MemberNode
	// callees holds the nodes that are names of functions.
	callees map[ast.Node]bool
}

func newCheck(s *scope) *check {
	return &check{
		scope: s, lets: map[string]bool{}, bound: map[ast.Node]bool{}, callees: map[ast.Node]bool{},
		uses: newUses(),
	}
}

func (c *check) fault(n ast.Node, problem, fix string) {
	c.faults = append(c.faults, fault{n.Location(), problem, fix})
}

// tree checks a whole expression.
func (c *check) tree(root ast.Node) {
	ast.Walk(&root, c)
	for _, id := range c.idents {
		c.ident(id)
	}
	for _, s := range c.steps {
		if !c.bound[s] {
			c.fault(s, nameOf(s)+" is not a value by itself", "write "+nameOf(s)+".output or "+nameOf(s)+".done")
		}
	}
}

// Visit implements ast.Visitor: children come before their parents.
func (c *check) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		c.idents = append(c.idents, n)
	case *ast.VariableDeclaratorNode:
		c.let(n)
	case *ast.MemberNode:
		c.member(n)
	case *ast.CallNode:
		c.call(n)
	case *ast.BuiltinNode:
		if _, ok := builtins[n.Name]; !ok {
			c.noFunction(n, n.Name)
		}
	case *ast.BinaryNode:
		c.binary(n)
	case *ast.BytesNode:
		c.fault(n, "bytes cannot be used", "write a text")
	}
}

func (c *check) let(n *ast.VariableDeclaratorNode) {
	if c.scope.names[n.Name] != nil || strings.HasPrefix(n.Name, "$") {
		c.fault(n, n.Name+" has a meaning already", "choose another name")
	}
	c.lets[n.Name] = true
}

func (c *check) call(n *ast.CallNode) {
	id, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		c.fault(n, "methods cannot be called", "functions are "+strings.Join(functionNames(), ", "))
		return
	}
	c.callees[id] = true
	if _, ok := functions[id.Value]; !ok {
		c.noFunction(n, id.Value)
	}
}

func (c *check) noFunction(n ast.Node, name string) {
	fix := nearest(name, functionNames())
	if name == "now" {
		fix = "an expression has no clock, so that every attempt is given the same; pass the time as a parameter"
	}
	c.fault(n, "unknown function "+name, fix)
}

func (c *check) binary(n *ast.BinaryNode) {
	switch n.Operator {
	case "..":
		c.fault(n, "ranges cannot be used", "loop over a list of the item")
	case "matches":
		s, ok := n.Right.(*ast.StringNode)
		if !ok {
			c.fault(n, "matches needs a pattern that is written out", `write it as in message matches "^timeout"`)
			return
		}
		if _, err := newPattern(s.Value); err != nil {
			c.fault(n, err.Error(), "")
		}
	}
}

// member records which members are used.
func (c *check) member(n *ast.MemberNode) {
	name, written := n.Property.(*ast.StringNode)
	switch base := n.Node.(type) {
	case *ast.IdentifierNode:
		switch base.Value {
		case nameSteps:
			c.bound[base] = true
			if written {
				c.step(n, name.Value)
			} else {
				c.fault(n, "the name of a step must be written out", `write it as in steps["send-message"].output`)
			}
		case nameItem:
			if written {
				c.bound[base] = true
				c.uses.members[name.Value] = true
			}
		}
	case *ast.MemberNode:
		if c.isStep(base) {
			c.bound[base] = true
			c.stepMember(n, base, name)
		}
	}
}

func (c *check) isStep(n *ast.MemberNode) bool {
	id, ok := n.Node.(*ast.IdentifierNode)
	_, written := n.Property.(*ast.StringNode)
	return ok && written && id.Value == nameSteps && c.scope.names[nameSteps] != nil
}

func (c *check) step(n *ast.MemberNode, name string) {
	c.steps = append(c.steps, n)
	if slices.Contains(c.scope.steps, name) || c.scope.names[nameSteps] == nil { // the latter is reported by the identifier
		return
	}
	c.bound[n] = true // one fault is enough
	fix := nearest(name, c.scope.steps)
	if len(c.scope.steps) == 0 {
		fix = "the first step has no earlier ones"
	}
	c.fault(n, nameOf(n)+": no such earlier step", fix)
}

func (c *check) stepMember(n, step *ast.MemberNode, name *ast.StringNode) {
	of := step.Property.(*ast.StringNode)
	switch {
	case name != nil && name.Value == "output":
		c.uses.outputs[of.Value] = true
	case name != nil && name.Value == "done":
		c.uses.done[of.Value] = true
	default:
		c.fault(n, nameOf(step)+" has only output and done", "write "+nameOf(step)+".output or "+nameOf(step)+".done")
	}
}

// ident checks a name that stands by itself, or is the left side of a member.
func (c *check) ident(n *ast.IdentifierNode) {
	switch {
	case c.callees[n] || c.lets[n.Value]:
		return
	case c.scope.names[n.Value] == nil:
		c.fault(n, "unknown name "+n.Value, nearest(n.Value, c.scope.known()))
	case n.Value == nameSteps && !c.bound[n]:
		c.fault(n, "steps is not a value by itself", `write it as in steps["send-message"].output`)
	case n.Value == nameItem:
		c.uses.whole = c.uses.whole || !c.bound[n]
	case n.Value == nameParams:
		c.uses.params = true
	case n.Value == "output":
		c.uses.output = true
	}
}

// nameOf returns a step as a user would write it.
func nameOf(n *ast.MemberNode) string {
	s, ok := n.Property.(*ast.StringNode)
	if !ok {
		return "steps[…]"
	}
	for i, r := range s.Value {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return fmt.Sprintf("steps[%q]", s.Value)
		}
	}
	return "steps." + s.Value
}
