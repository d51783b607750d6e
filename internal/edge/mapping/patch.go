package mapping

import (
	"github.com/expr-lang/expr/ast"
)

// meter rewrites an expression so that everything whose cost depends on the data pays for it:
// loops per turn, texts by their length, comparisons by the size of their operands. It replaces
// arithmetic by a version that never wraps around.
type meter struct{}

// Visit implements ast.Visitor.
func (m meter) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.PredicateNode:
		n.Node = invoke("$tick", &ast.IntegerNode{Value: count(n.Node)}, n.Node)
	case *ast.CallNode:
		head := []ast.Node{&ast.IdentifierNode{Value: nameRun}}
		if f, ok := n.Callee.(*ast.IdentifierNode); ok && converting[f.Value] && len(n.Arguments) > 0 {
			head = append(head, &ast.StringNode{Value: columnIn(n.Arguments[0])})
		}
		n.Arguments = append(head, n.Arguments...)
	case *ast.BuiltinNode:
		m.builtin(n)
	case *ast.MemberNode:
		n.Property = m.look(n.Property) // a key is hashed whole
	case *ast.BinaryNode:
		m.binary(node, n)
	}
}

func (m meter) builtin(n *ast.BuiltinNode) {
	if !builtins[n.Name] {
		return
	}
	for i, a := range n.Arguments {
		if _, loop := a.(*ast.PredicateNode); !loop {
			n.Arguments[i] = m.look(a)
		}
	}
}

var arithmetic = map[string]string{"+": "$add", "-": "$sub", "*": "$mul"}

func (m meter) binary(node *ast.Node, n *ast.BinaryNode) {
	switch n.Operator {
	case "+", "-", "*":
		ast.Patch(node, invoke(arithmetic[n.Operator], n.Left, n.Right))
	case "matches":
		s, ok := n.Right.(*ast.StringNode)
		if !ok {
			return // refused before
		}
		if p, err := newPattern(s.Value); err == nil {
			ast.Patch(node, invoke("$match", &ast.ConstantNode{Value: p}, n.Left))
		}
	case "==", "!=", "<", "<=", ">", ">=", "startsWith", "endsWith":
		// A comparison with a literal reads no more than the literal's length.
		if !literal(n.Left) && !literal(n.Right) {
			n.Left, n.Right = m.look(n.Left), m.look(n.Right)
		}
	case "contains", "in":
		n.Left, n.Right = m.look(n.Left), m.look(n.Right)
	}
}

// look makes a value pay when it is read.
func (m meter) look(n ast.Node) ast.Node {
	if literal(n) {
		return n
	}
	return invoke("$look", n)
}

// literal reports whether a node is a literal, whose size is bounded by that of the expression.
func literal(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.NilNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.StringNode:
		return true
	case *ast.ArrayNode:
		for _, x := range n.Nodes {
			if !literal(x) {
				return false
			}
		}
		return true
	}
	return false
}

func invoke(name string, args ...ast.Node) ast.Node {
	args = append([]ast.Node{&ast.IdentifierNode{Value: nameRun}}, args...)
	call := &ast.CallNode{Callee: &ast.IdentifierNode{Value: name}, Arguments: args}
	for _, a := range args {
		if at := a.Location(); at.To > 0 {
			call.SetLocation(at) // errors of the call are errors of its argument
		}
	}
	return call
}

// counter counts the nodes of a tree.
type counter int

// Visit implements ast.Visitor.
func (c *counter) Visit(*ast.Node) { *c++ }

func count(n ast.Node) int {
	var c counter
	ast.Walk(&n, &c)
	return int(c)
}
