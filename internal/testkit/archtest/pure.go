package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// impureImports lists the packages that bring a clock, random numbers, a lock, I/O or
// cancellation into a package. A trailing slash means all below.
var impureImports = []string{
	"context", "crypto/rand", "hash/maphash", "io/ioutil", "log", "log/", "net", "net/",
	"os", "os/", "runtime", "runtime/", "sync", "sync/", "syscall", "testing", "testing/",
}

// impureNames lists names of otherwise harmless packages that the core must not use.
var impureNames = map[string][]string{
	"time": {"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"},
	"fmt":  {"Print", "Printf", "Println"},
	"maps": {"All", "Keys", "Values"}, // allowed where sorted at once, see mapOrder
}

// seededNames are the only names of the random packages that the core may use:
// generators made from a seed that was passed in.
var seededNames = map[string][]string{
	"math/rand":    {"New", "NewSource", "NewZipf", "Rand", "Source", "Source64", "Zipf"},
	"math/rand/v2": {"ChaCha8", "New", "NewChaCha8", "NewPCG", "NewZipf", "PCG", "Rand", "Source", "Zipf"},
}

// orderComment excuses a walk over a map, on its line or the line above.
const orderComment = "order does not reach"

// CheckPure reports anything in the code of p that would make two runs with the same inputs
// differ, or that does I/O. rangesOver returns what kind of value a range statement iterates
// over; it comes from the type checker.
func CheckPure(p *Package, rangesOver func(ast.Expr) Kind) []Violation {
	var out []Violation
	for _, f := range p.Code() {
		c := &pureCheck{file: f, rangesOver: rangesOver, names: f.importNames(), sorted: map[ast.Node]bool{}}
		c.imports()
		ast.Inspect(f.AST, c.visit)
		out = append(out, c.out...)
	}
	return out
}

// Kind is the type of value that a range statement iterates over, as far as purity is
// concerned.
type Kind int

// The kinds that matter to the core.
const (
	Ordered Kind = iota // same order every time
	Map
	Channel
	Unknown // the type checker could not tell
)

type pureCheck struct {
	file       *File
	rangesOver func(ast.Expr) Kind
	names      map[string]string // local name -> import path
	sorted     map[ast.Node]bool // maps.Keys and friends that are sorted at once
	out        []Violation
}

func (c *pureCheck) report(n ast.Node, format string, args ...any) {
	c.out = append(c.out, c.file.at(n, format, args...))
}

func (c *pureCheck) imports() {
	for _, imp := range c.file.Imports() {
		if slices.ContainsFunc(impureImports, func(bad string) bool {
			return imp.Path == bad || strings.HasSuffix(bad, "/") && strings.HasPrefix(imp.Path, bad)
		}) {
			c.report(imp.Spec, "the core must not import %s: take what it gives as an argument", imp.Path)
		}
	}
}

func (c *pureCheck) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		c.report(n, "the core starts no goroutine: return an effect")
	case *ast.SelectStmt:
		c.report(n, "the core does not select: inputs are arguments")
	case *ast.SendStmt:
		c.report(n, "the core sends on no channel: return an effect")
	case *ast.ChanType:
		c.report(n, "the core has no channel: inputs are arguments, wishes are results")
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			c.report(n, "the core receives from no channel: inputs are arguments")
		}
	case *ast.RangeStmt:
		c.rangeStmt(n)
	case *ast.CallExpr:
		c.call(n)
	case *ast.SelectorExpr:
		c.selector(n)
	}
	return true
}

func (c *pureCheck) rangeStmt(n *ast.RangeStmt) {
	switch c.rangesOver(n.X) {
	case Channel:
		c.report(n, "the core receives from no channel: inputs are arguments")
	case Map:
		if !c.excused(n) {
			c.report(n, "the order of a map changes between runs: sort the keys, or say in a comment why its %q an output", orderComment)
		}
	case Unknown:
		c.report(n, "cannot tell what is walked over here: does the package compile?")
	case Ordered:
	}
}

// call notes the arguments of slices.Sorted and its kin, and finds the built-in prints.
func (c *pureCheck) call(n *ast.CallExpr) {
	if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "print" || id.Name == "println") {
		c.report(n, "the core prints nothing: return a value")
	}
	pkg, name := c.qualified(n.Fun)
	if pkg == "slices" && strings.HasPrefix(name, "Sorted") && len(n.Args) > 0 {
		if inner, ok := n.Args[0].(*ast.CallExpr); ok {
			c.sorted[inner.Fun] = true
		}
	}
}

func (c *pureCheck) selector(n *ast.SelectorExpr) {
	pkg, name := c.qualified(n)
	if allowed, random := seededNames[pkg]; random {
		if !slices.Contains(allowed, name) {
			c.report(n, "%s.%s draws from a global source: pass a seed and use rand.New", pkg, name)
		}
		return
	}
	if !slices.Contains(impureNames[pkg], name) {
		return
	}
	if pkg == "maps" && (c.sorted[n] || c.excused(n)) {
		return
	}
	c.report(n, "the core must not use %s.%s: what it gives differs between runs or leaves the package", pkg, name)
}

// qualified resolves pkg.Name to the import path of pkg; both are empty for anything else.
func (c *pureCheck) qualified(e ast.Expr) (pkg, name string) {
	if ix, ok := e.(*ast.IndexExpr); ok {
		e = ix.X // an instantiated generic function
	}
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok || c.names[id.Name] == "" {
		return "", ""
	}
	return c.names[id.Name], sel.Sel.Name
}

// excused reports whether a comment on the line of n, or the line above, gives the reason.
func (c *pureCheck) excused(n ast.Node) bool {
	line := c.file.Fset.Position(n.Pos()).Line
	for _, g := range c.file.AST.Comments {
		first, last := c.file.Fset.Position(g.Pos()).Line, c.file.Fset.Position(g.End()).Line
		if (first == line || last == line-1) && strings.Contains(joinLines(g.Text()), orderComment) {
			return true
		}
	}
	return false
}

func joinLines(s string) string { return strings.Join(strings.Fields(s), " ") }

// importNames maps the local name of each import to its path. The name of a
// path is its last element, or the one before a version.
func (f *File) importNames() map[string]string {
	names := map[string]string{}
	for _, imp := range f.Imports() {
		switch {
		case imp.Spec.Name != nil:
			names[imp.Spec.Name.Name] = imp.Path
		default:
			names[lastElement(imp.Path)] = imp.Path
		}
	}
	return names
}

func lastElement(imp string) string {
	parts := strings.Split(imp, "/")
	last := parts[len(parts)-1]
	if len(parts) > 1 && len(last) > 1 && last[0] == 'v' && strings.Trim(last[1:], "0123456789") == "" {
		return parts[len(parts)-2]
	}
	return last
}
