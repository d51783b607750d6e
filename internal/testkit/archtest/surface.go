package archtest

import (
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// Public lists the packages that users import.
var Public = []string{
	".", "api", "cli", "client", "engine", "operate", "report", "server", "store", "store/memstore", "store/pebblestore",
	"store/redisstore", "weirtest",
}

// loadPublic reads the types of the public packages from their export data.
func loadPublic(module string, e exports) ([]*types.Package, error) {
	from := importer.ForCompiler(token.NewFileSet(), "gc", e.open)
	var out []*types.Package
	for _, dir := range Public {
		p, err := from.Import(strings.TrimSuffix(module+"/"+dir, "/."))
		if err != nil {
			return nil, fmt.Errorf("types of %s: %w", dir, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// Surface returns a line for every exported name of a package: constants, variables, functions, types, and the
// fields and methods of types, each with its signature.
func Surface(p *types.Package) []string { return surfaceOf(p, (*types.Package).Name) }

// surfaceOf is Surface with names of our own for other packages.
func surfaceOf(p *types.Package, name func(*types.Package) string) []string {
	short := func(q *types.Package) string {
		if q == p {
			return ""
		}
		return name(q)
	}
	var lines []string
	add := func(format string, args ...any) {
		lines = append(lines, p.Name()+" "+fmt.Sprintf(format, args...))
	}
	for _, o := range exported(p) {
		typ, ok := o.(*types.TypeName)
		if !ok {
			add("%s", types.ObjectString(o, short))
			continue
		}
		if under, ok := o.Type().Underlying().(*types.Struct); ok && !typ.IsAlias() {
			add("type %s struct", types.TypeString(o.Type(), short))
			for f := range under.Fields() {
				if f.Exported() || f.Embedded() {
					add("field %s.%s %s", o.Name(), f.Name(), types.TypeString(f.Type(), short))
				}
			}
		} else {
			add("%s", types.ObjectString(o, short))
		}
		for _, m := range methods(o) {
			recv := o.Name()
			if _, pointer := m.Signature().Recv().Type().(*types.Pointer); pointer {
				recv = "(*" + recv + ")"
			}
			add("method %s.%s%s", recv, m.Name(), strings.TrimPrefix(types.TypeString(m.Signature(), short), "func"))
		}
	}
	return lines
}

// exported returns the exported objects of a package's scope, sorted by name.
func exported(p *types.Package) []types.Object {
	var out []types.Object
	for _, name := range p.Scope().Names() {
		if o := p.Scope().Lookup(name); o.Exported() {
			out = append(out, o)
		}
	}
	return out
}

// methods returns the exported methods that are declared on a type, sorted by name.
func methods(o types.Object) []*types.Func {
	named, ok := o.Type().(*types.Named)
	if !ok {
		return nil
	}
	var out []*types.Func
	for m := range named.Methods() {
		if m.Exported() {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b *types.Func) int { return strings.Compare(a.Name(), b.Name()) })
	return out
}

// CheckSurface finds exported names of a package whose signature has a type of an internal package: users
// can neither name it nor read about it.
func CheckSurface(module string, p *types.Package) []Violation {
	var out []Violation
	for _, line := range surfaceOf(p, func(q *types.Package) string {
		dir, _ := inModule(module, q.Path())
		if covers("internal/...", dir) {
			return dir
		}
		return q.Name()
	}) {
		if strings.Contains(line, "internal/") {
			out = append(out, Violation{line, "shows an internal type: give users a type of their own"})
		}
	}
	return out
}
