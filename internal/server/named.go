package server

import (
	"context"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/records"
)

// collection serves things that have a name: it lists, gets, puts and deletes them, with ETags, the
// tenants of the caller, and the values before and after a change in the audit log. T is the thing in
// responses and in the body of a change.
type collection[T any] struct {
	named
	all  func(context.Context) ([]T, error)
	get  func(ctx context.Context, name string) (T, string, error)
	set  func(ctx context.Context, v T, match records.Match) (T, string, error)
	drop func(ctx context.Context, name string, match records.Match) error

	name func(*T) *string
	// sees returns the thing as the caller sees it, or false if the caller must not learn of it; nil:
	// all callers see all of it.
	sees func(context.Context, T) (T, bool)
	// prepare fills in and checks what depends on the caller; nil: nothing does.
	prepare func(context.Context, *T) error
	// tenant returns the tenant of a thing, for the audit log; nil: it has none.
	tenant func(*T) string
}

// serve registers the endpoints.
func (r *collection[T]) serve(s *Server, list, one, set, remove endpoint) {
	add(s, list, r.listAll)
	add(s, one, r.getOne)
	add(s, set, r.putOne)
	add(s, remove, r.deleteOne)
}

// seen returns a thing as the caller sees it.
func (r *collection[T]) seen(ctx context.Context, v T) (T, bool) {
	if r.sees == nil {
		return v, true
	}
	return r.sees(ctx, v)
}

func (r *collection[T]) listAll(ctx context.Context, in *struct{ Paging }) (*body[api.Page[T]], error) {
	all, err := r.all(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(v T) bool { _, ok := r.seen(ctx, v); return !ok })
	for i := range all {
		all[i], _ = r.seen(ctx, all[i])
	}
	return paged(all, func(v *T) string { return *r.name(v) }, in.Paging, r.kind)
}

// find returns a thing that the caller sees, and its version.
func (r *collection[T]) find(ctx context.Context, name string) (v T, version string, err error) {
	v, version, err = r.get(ctx, name)
	if err != nil {
		return v, "", err
	}
	v, ok := r.seen(ctx, v)
	if !ok {
		return v, "", weir.ErrNotFound
	}
	return v, version, nil
}

func (r *collection[T]) getOne(ctx context.Context, in *Name) (*tagged[T], error) {
	return answerTagged(r.find(ctx, in.Name))
}

type putNamed[T any] struct {
	Name
	Conditions
	Body T
}

func (r *collection[T]) putOne(ctx context.Context, in *putNamed[T]) (*tagged[T], error) {
	v, name := in.Body, in.Name.Name
	if err := sameName(*r.name(&v), name); err != nil {
		return nil, err
	}
	*r.name(&v) = name
	if r.prepare != nil {
		if err := r.prepare(ctx, &v); err != nil {
			return nil, err
		}
	}
	r.changing(ctx, name, &v)
	out, version, err := r.set(ctx, v, in.match)
	visitOf(ctx).after = out
	return answerTagged(out, version, err)
}

// aboutNamed is a request about a thing that has a name, with a body.
type aboutNamed[B any] struct {
	Name
	Body B
}

type deleteNamed struct {
	Name
	Conditions
}

func (r *collection[T]) deleteOne(ctx context.Context, in *deleteNamed) (*struct{}, error) {
	r.changing(ctx, in.Name.Name, nil)
	return nil, r.drop(ctx, in.Name.Name, in.match)
}

// changing notes for the audit log what is about to be changed to v, or deleted.
func (r *collection[T]) changing(ctx context.Context, name string, v *T) {
	before, _, err := r.get(ctx, name)
	if err == nil {
		visitOf(ctx).before = before
		if v == nil {
			v = &before
		}
	}
	tenant := ""
	if r.tenant != nil && v != nil {
		tenant = r.tenant(v)
	}
	changed(ctx, name, tenant)
}

// sameName wants a name in a body to be that of the path, if there is one.
func sameName(inBody, inPath string) error {
	if inBody == "" || inBody == inPath {
		return nil
	}
	return &weir.FieldError{Code: "bad_value", Field: "name", Problem: "is not the name in the path", Fix: "leave it out"}
}

// Name is the name in a path; exported for huma.
type Name struct {
	Name string `path:"name" maxLength:"128" example:"send-message"`
}

// named makes the endpoints of things that have a name.
type named struct {
	kind   string       // one of them
	change access.Scope // what it takes to change them
}

func (n named) path() string { return "/v1/" + n.kind + "s" }

func (n named) list(summary string) endpoint {
	return get(access.Read, n.kind+".list", n.path(), n.kind+"s", summary)
}

func (n named) one(summary string) endpoint {
	return get(access.Read, n.kind+".get", n.path()+"/{name}", n.kind+"s", summary)
}

func (n named) put(summary string) endpoint {
	return put(n.change, n.kind+".put", n.path()+"/{name}", n.kind+"s", summary)
}

func (n named) remove(summary string) endpoint {
	return del(n.change, n.kind+".delete", n.path()+"/{name}", n.kind+"s", summary)
}

func (n named) test(scope access.Scope, summary string) endpoint {
	return post(scope, n.kind+".test", n.path()+"/{name}/test", n.kind+"s", summary)
}

// mayChange refuses a change of objects that are shared with other tenants. Callers who cannot see the object get ErrNotFound.
func mayChange(ctx context.Context, tenants []string) error {
	switch {
	case covers(ctx, tenants):
		return nil
	case !seesAny(ctx, tenants):
		return weir.ErrNotFound
	}
	return overall(ctx)
}
