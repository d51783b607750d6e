package mapping

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/weirhq/weir"
)

// mostProblem bounds the error text about one item, in bytes.
const mostProblem = 300

// memory bounds the list and object members that one expression may make.
const memory = 100_000

// expression is a compiled expression.
type expression struct {
	field string
	text  string
	uses  uses
	path  *path // not nil: the expression is only a path into a document
	code  *vm.Program
}

// compile checks and compiles an expression. condition requires a boolean result.
func (s *scope) compile(field, text string, condition bool) (*expression, *weir.FieldError) {
	e := &expression{field: field, text: text}
	if f := s.length(text); f != nil {
		return nil, s.wrong(e, *f)
	}
	options := s.options(condition, false)
	config := conf.CreateNew()
	for _, o := range options {
		o(config)
	}
	tree, err := parser.ParseWithConfig(text, config)
	if err != nil {
		return nil, s.wrong(e, quoteWords(parserFault(err), text, condition))
	}
	c := newCheck(s)
	c.tree(tree.Node)
	if len(c.faults) > 0 {
		return nil, s.wrong(e, bracket(quoteWords(first(c.faults), text, condition), text))
	}
	if _, err := checker.Check(tree, config); err != nil {
		return nil, s.wrong(e, parserFault(err))
	}
	e.uses = c.uses
	if !condition {
		e.path = pathOf(tree.Node)
	}
	if e.code, err = expr.Compile(text, s.options(condition, true)...); err != nil {
		return nil, s.wrong(e, parserFault(err))
	}
	return e, nil
}

// plainWords matches a text that is probably meant as it is: words, without anything that expressions are made of.
var plainWords = regexp.MustCompile(`^[\pL\pN]+([ ,!?-]+[\pL\pN]+)*[ ,.!?-]*$`)

// quoteWords says that a fixed text needs quotes, if an expression that is wrong looks like one.
func quoteWords(f fault, text string, condition bool) fault {
	text = strings.TrimSpace(text)
	if condition || f.fix != "" && !strings.HasPrefix(f.fix, listsNames) || !plainWords.MatchString(text) {
		return f
	}
	if strings.Contains(text, " ") { // the place of an unexpected word says nothing
		f = fault{problem: "this is not an expression"}
	}
	f.fix = strings.TrimSuffix("a fixed text needs quotes, as in '"+text+"'; "+f.fix, "; ")
	return f
}

// hyphenated matches a member whose name is probably meant to have hyphens, which stand for minus: item.E-Mail.
var hyphenated = regexp.MustCompile(`\b((?:item|params)(?:\.[\pL_][\pL\pN_]*)*)\.([\pL_][\pL\pN_]*(?:-[\pL_][\pL\pN_]*)+)`)

// bracket says how a name with hyphens is written, if the fault is within one.
func bracket(f fault, text string) fault {
	if !strings.HasPrefix(f.problem, "unknown name ") {
		return f
	}
	for _, m := range hyphenated.FindAllStringSubmatchIndex(text, -1) {
		from, to := utf8.RuneCountInString(text[:m[0]]), utf8.RuneCountInString(text[:m[1]])
		if f.at.From >= from && f.at.From < to {
			f.fix = fmt.Sprintf("a name with a hyphen is written as %s[%q]", text[m[2]:m[3]], text[m[4]:m[5]])
		}
	}
	return f
}

func (s *scope) length(text string) *fault {
	switch {
	case strings.TrimSpace(text) == "":
		return &fault{problem: "is empty", fix: "write an expression, as in " + s.known()[0]}
	case len(text) > MaxLength:
		return &fault{problem: fmt.Sprintf("has %d bytes", len(text)), fix: fmt.Sprintf("%d is the most", MaxLength)}
	}
	return nil
}

// options returns the library's options: for the language that users see, or for the compiled
// form.
func (s *scope) options(condition, compiled bool) []expr.Option {
	out := []expr.Option{expr.Env(s.env(compiled)), expr.MaxNodes(MaxNodes), expr.DisableAllBuiltins()}
	for name := range builtins { // order does not reach the result
		out = append(out, expr.EnableBuiltin(name))
	}
	for name, f := range functions { // order does not reach the result
		if compiled {
			out = append(out, expr.Function(name, metered(f.do)))
		} else {
			out = append(out, expr.Function(name, metered(f.do), f.as))
		}
	}
	if condition {
		out = append(out, expr.AsKind(reflect.Bool))
	}
	if !compiled {
		return out
	}
	for name, do := range internal { // order does not reach the result
		out = append(out, expr.Function(name, metered(do)))
	}
	// The meter adds nodes; what the user wrote was counted before.
	return append(out, expr.Patch(meter{}), expr.MaxNodes(0))
}

func metered(do func(*run, []any) (any, error)) func(args ...any) (any, error) {
	return func(args ...any) (any, error) { return do(args[0].(*run), args[1:]) }
}

// first returns the fault that comes first in the text.
func first(faults []fault) fault {
	out := faults[0]
	for _, f := range faults[1:] {
		if f.at.From < out.at.From {
			out = f
		}
	}
	return out
}

// parserFault returns the library's error without its drawing of the position.
func parserFault(err error) fault {
	out := fault{problem: err.Error()}
	var f *file.Error
	if errors.As(err, &f) {
		out = fault{at: f.Location, problem: f.Message}
	}
	switch {
	case strings.Contains(out.problem, `Operator("=")`):
		out.problem, out.fix = "= cannot be used here", "write == to compare"
	case strings.HasPrefix(out.problem, "expected bool"):
		out.fix = "write a condition, as in item.country == 'DE'"
	}
	return out
}

func (s *scope) wrong(e *expression, f fault) *weir.FieldError {
	return &weir.FieldError{Code: s.code, Field: e.field, Problem: e.place(f.at) + f.problem, Fix: f.fix}
}

// place describes a position in the text, in characters from 1.
func (e *expression) place(at file.Location) string {
	if at.To == 0 && at.From == 0 {
		return ""
	}
	line, character := 1, 1
	for i, r := range []rune(e.text) {
		if i == at.From {
			break
		}
		character++
		if r == '\n' {
			line, character = line+1, 1
		}
	}
	if line == 1 {
		return fmt.Sprintf("at character %d: ", character) // a column is one of the data
	}
	return fmt.Sprintf("in line %d at character %d: ", line, character)
}

// eval runs the expression.
func (e *expression) eval(env map[string]any) (any, error) {
	machine := vm.VM{MemoryBudget: memory}
	v, err := machine.Run(e.code, env)
	if err != nil {
		return nil, e.blame(e.failed(err), env)
	}
	return v, nil
}

// blame adds to an error which members of the item are missing, if something needs a value and has none.
func (e *expression) blame(out *ItemError, env map[string]any) *ItemError {
	item, ok := env[nameItem].(map[string]any)
	if !ok || !strings.Contains(out.Problem, "null") && !strings.Contains(out.Problem, "a value is missing") {
		return out
	}
	var missing []string
	for _, name := range names(e.uses.members) {
		if item[name] == nil {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return out
	}
	verb := " is missing or empty"
	if len(missing) > 1 {
		verb = " are missing or empty"
	} else {
		out.Column = cmp.Or(out.Column, missing[0])
	}
	out.Problem += ": " + strings.Join(missing, ", ") + verb
	out.Fix = cmp.Or(out.Fix, "give the item a value, or write what to use instead, as in ("+inItem(missing[0])+" ?? '')")
	return out
}

var plainMember = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// inItem writes a member of the item as an expression.
func inItem(name string) string {
	if plainMember.MatchString(name) {
		return nameItem + "." + name
	}
	return fmt.Sprintf("%s[%q]", nameItem, name)
}

// failed returns the error of an item for which the expression fails.
func (e *expression) failed(err error) *ItemError {
	out := &ItemError{FieldError: weir.FieldError{Code: ExpressionFailed, Field: e.field}}
	if len(e.uses.members) == 1 && !e.uses.whole {
		out.Column = names(e.uses.members)[0]
	}
	if v := (*badValue)(nil); errors.As(err, &v) {
		out.Problem, out.Fix, out.Value = v.Error(), v.fix, v.value
		out.Column = cmp.Or(v.column, out.Column)
		return out
	}
	f := parserFault(err)
	if _, raw, found := strings.Cut(f.problem, "interface conversion: "); found {
		f.problem = "a value is of another kind than is needed here (" + raw + ")"
		if strings.Contains(raw, "is nil") {
			f.problem = "a value is missing"
		}
	}
	if strings.Contains(f.problem, "from <nil>") {
		f.fix = "write ?. instead of the dot where a part may be missing"
	}
	f.problem = strings.ReplaceAll(f.problem, "from <nil>", "of null")
	if len(f.problem) > mostProblem { // it may quote the item
		f.problem = strings.ToValidUTF8(f.problem[:mostProblem], "") + "…"
	}
	out.Problem, out.Fix = e.place(f.at)+f.problem, f.fix
	return out
}

// path is a path into a document, as in item.user.id.
type path struct {
	root string // item, row, params, output, or the name of a step for its output
	step bool
	keys []key
}

type key struct {
	name string
	// optional: a missing value here is null, and so is all below it.
	optional bool
}

// pathOf returns the path that an expression consists of, or nil if it is anything else.
func pathOf(n ast.Node) *path {
	if c, ok := n.(*ast.ChainNode); ok {
		n = c.Node
	}
	p := &path{}
	for {
		switch x := n.(type) {
		case *ast.MemberNode:
			s, ok := x.Property.(*ast.StringNode)
			if !ok || x.Method {
				return nil
			}
			p.keys = append([]key{{s.Value, x.Optional}}, p.keys...)
			n = x.Node
		case *ast.IdentifierNode:
			return p.from(x.Value)
		default:
			return nil
		}
	}
}

// from ends a path at its root, if that is a document.
func (p *path) from(root string) *path {
	switch root {
	case nameItem, nameParams, "output":
		p.root = root
		return p
	case nameSteps:
		if len(p.keys) >= 2 && p.keys[1].name == "output" {
			p.root, p.step, p.keys = p.keys[0].name, true, p.keys[2:]
			return p
		}
	}
	return nil
}
