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
	".", "api", "cli", "client", "engine", "operate", "report", "store", "store/memstore", "store/pebblestore", "store/redisstore", "weirtest",
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
func Surface(p *types.Package) []string {
	short := func(q *types.Package) string {
		if q == p {
			return ""
		}
		return q.Name()
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
	for _, o := range exported(p) {
		out = append(out, inside(module, p.Name()+"."+o.Name(), declared(o))...)
		for _, m := range methods(o) {
			out = append(out, inside(module, p.Name()+"."+o.Name()+"."+m.Name(), m.Type())...)
		}
	}
	return out
}

// declared returns the type that an object stands for: of a type, what it is made of.
func declared(o types.Object) types.Type {
	if named, ok := o.Type().(*types.Named); ok {
		if t, ok := o.(*types.TypeName); ok && !t.IsAlias() {
			return named.Underlying()
		}
	}
	return types.Unalias(o.Type())
}

func inside(module, where string, t types.Type) []Violation {
	w := walker{internal: module + "/internal/", seen: map[types.Type]bool{}}
	w.walk(t)
	var out []Violation
	for _, name := range w.found {
		out = append(out, Violation{where, "shows the internal type " + name + ": give users a type of their own"})
	}
	return out
}

// walker looks for types of internal packages in what a type shows to its users.
type walker struct {
	internal string
	seen     map[types.Type]bool
	found    []string
}

func (w *walker) walk(t types.Type) {
	if w.seen[t] {
		return
	}
	w.seen[t] = true
	switch t := t.(type) {
	case *types.Alias:
		w.walk(types.Unalias(t))
	case *types.Named:
		if p := t.Obj().Pkg(); p != nil && strings.HasPrefix(p.Path(), w.internal) {
			w.found = append(w.found, strings.TrimPrefix(p.Path(), w.internal)+"."+t.Obj().Name())
		}
		for a := range t.TypeArgs().Types() {
			w.walk(a)
		}
	case *types.TypeParam:
		w.walk(t.Constraint())
	case *types.Map:
		w.walk(t.Key())
		w.walk(t.Elem())
	case interface{ Elem() types.Type }: // pointer, slice, array, channel
		w.walk(t.Elem())
	case *types.Signature:
		for p := range t.TypeParams().TypeParams() {
			w.walk(p)
		}
		for v := range t.Params().Variables() {
			w.walk(v.Type())
		}
		for v := range t.Results().Variables() {
			w.walk(v.Type())
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() {
				w.walk(f.Type())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				w.walk(m.Type())
			}
		}
		for e := range t.EmbeddedTypes() {
			w.walk(e)
		}
	case *types.Union:
		for x := range t.Terms() {
			w.walk(x.Type())
		}
	}
}
