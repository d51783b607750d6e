package archtest

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// settable finds fields that callers can set, and those that code reads. Both are
// named by package, type and field.
type settable struct {
	fields, read map[string]bool
	seen         map[string]bool
}

// CheckSettable returns a violation for each field that callers can set, in the configuration
// or in a request, and that no code in dirs reads: it is accepted and ignored. That what is read
// has the effect that it should have, tests have to show. Fields in except are read
// in another way, which the value names.
func CheckSettable(t *Tree, e exports, dirs []string, except map[string]string) (vs []Violation) {
	s := &settable{fields: map[string]bool{}, read: map[string]bool{}, seen: map[string]bool{}}
	for _, dir := range dirs {
		i := slices.IndexFunc(t.Packages, func(p *Package) bool { return p.Dir == dir })
		s.look(t.Packages[i], t.Module+"/"+dir, e)
	}
	for _, name := range slices.Sorted(maps.Keys(s.fields)) {
		if !s.read[name] && except[name] == "" {
			vs = append(vs, Violation{name, "can be set, and nothing reads it: make it work, or remove it"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(except)) {
		if !s.fields[name] || s.read[name] {
			vs = append(vs, Violation{name, "needs no exception any more"})
		}
	}
	return vs
}

// look type-checks a package, and takes from it what it reads and what it lets callers set.
func (s *settable) look(p *Package, path string, e exports) {
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}, Defs: map[*ast.Ident]types.Object{},
		Instances: map[*ast.Ident]types.Instance{}}
	files := p.typeCheck(path, e, info)
	written := map[ast.Expr]bool{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if a, ok := n.(*ast.AssignStmt); ok && a.Tok == token.ASSIGN {
				for _, x := range a.Lhs {
					written[x] = true
				}
			}
			return true
		})
	}
	for x, sel := range info.Selections { // order does not matter
		if sel.Kind() == types.FieldVal && !written[x] && !translates(path, sel) {
			s.reads(sel)
		}
	}
	for id, of := range info.Instances {
		// Their type is the body of a request.
		if p.Name() == "server" && slices.Contains([]string{"collection", "request", "about", "aboutNamed", "withBody", "putNamed"}, id.Name) {
			s.inside(of.TypeArgs.At(0), "json")
		}
	}
	for _, def := range info.Defs {
		if def, ok := def.(*types.TypeName); ok {
			s.declared(def)
		}
	}
}

// translates reports whether a selection only translates what is stored into a response.
func translates(path string, sel *types.Selection) bool {
	owner := sel.Recv()
	if p, ok := owner.(*types.Pointer); ok {
		owner = p.Elem()
	}
	of, ok := owner.(*types.Named)
	return ok && strings.HasSuffix(path, "/stored") && of.Obj().Pkg().Name() == "stored"
}

// reads notes the field at the end of a selection, and those of embedded structs before it.
func (s *settable) reads(sel *types.Selection) {
	t := sel.Recv()
	for _, i := range sel.Index() {
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		st, ok := t.Underlying().(*types.Struct)
		if !ok {
			return
		}
		s.read[nameOf(t, st.Field(i))] = true
		t = st.Field(i).Type()
	}
}

func nameOf(owner types.Type, field *types.Var) string {
	name := types.TypeString(owner, func(p *types.Package) string { return p.Name() })
	return name + "." + field.Name()
}

// declared takes the settings of the configuration, parameters and bodies of requests, and requests as they are stored.
func (s *settable) declared(def *types.TypeName) {
	switch {
	case def.Pkg().Name() == "config" && def.Name() == "Server":
		s.inside(def.Type(), "yaml")
	case def.Pkg().Name() == "stored" && def.Name() == "Spec": // what requests become
		s.inside(def.Type(), "json")
	case def.Pkg().Name() == "server" && strings.HasSuffix(def.Name(), "Input"):
		s.request(def.Type())
	}
}

// request takes the parameters and the body of a request.
func (s *settable) request(t types.Type) {
	st, ok := t.Underlying().(*types.Struct)
	for i := 0; ok && i < st.NumFields(); i++ {
		f, tag := st.Field(i), reflect.StructTag(st.Tag(i))
		switch {
		case f.Name() == "Body":
			s.inside(f.Type(), "json")
		case f.Embedded():
			s.request(f.Type())
		case tag.Get("query")+tag.Get("path")+tag.Get("header") != "":
			s.fields[nameOf(t, f)] = true
		}
	}
}

// inside takes the fields of a type that the tag names, and those of the types in it.
func (s *settable) inside(t types.Type, tag string) {
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		s.inside(u.Elem(), tag)
	case *types.Slice:
		s.inside(u.Elem(), tag)
	case *types.Map:
		s.inside(u.Elem(), tag)
	case *types.Struct:
		if s.seen[t.String()] {
			return
		}
		s.seen[t.String()] = true
		for i := range u.NumFields() {
			f, tags := u.Field(i), reflect.StructTag(u.Tag(i))
			name, secret := tags.Get(tag), tags.Get("secret")
			switch {
			case name == "" || name == "-" || tags.Get("readOnly") != "":
			case secret != "" && secret != "-": // a file, which is read into another field
				s.fields[nameOf(t, f)[:len(nameOf(t, f))-len(f.Name())]+secret] = true
			default:
				s.fields[nameOf(t, f)] = true
				s.inside(f.Type(), tag)
			}
		}
	}
}
