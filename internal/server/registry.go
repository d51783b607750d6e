package server

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
)

func (s *Server) actionRoutes() {
	n := named{"action", access.Admin}
	add(s, n.list("List actions, by name",
		"Lists the actions of the program, of the configuration file and of the API. Keys bound to tenants see the actions that their tenants may use."), s.listActions)
	add(s, n.get("Get an action",
		"Secrets and header values are never shown: `[secret]` stands for one."), s.getAction)
	add(s, n.put("Create or change an HTTP action",
		"All nodes use it within a second, also for bulk actions that are running. A secret sent as `[secret]` does not change. "+
			"It overrides an action of the configuration file with the same name, also after restarts. Actions of the program cannot be changed. Keys bound to tenants create actions for their tenants only."), s.putAction)
	add(s, n.delete("Delete an action",
		"If the configuration file has an action of this name, that action applies again. Otherwise new bulk actions cannot use it; existing bulk actions continue: pause or cancel them to end the calls."), s.deleteAction)
	add(s, n.test(access.Submit, "Send a test batch to an action",
		"Makes one signed call, marked as a dry run unless dry_run is false. The response shows the request and the response of the endpoint, the result of each item, and any error in the endpoint's response. "+
			"Actions of the program have no dry run: they would do their work."), s.testAction)
}

// named makes the endpoints of things that have a name.
type named struct {
	kind   string       // one of them
	change access.Scope // what it takes to change them
}

func (n named) operation(verb, method, path, summary, description string) huma.Operation {
	return huma.Operation{
		OperationID: n.kind + "." + verb, Method: method, Path: "/v1/" + n.kind + "s" + path, Summary: summary, Description: description, Tags: []string{n.kind + "s"},
	}
}

func (n named) list(summary, description string) endpoint {
	return endpoint{n.operation("list", http.MethodGet, "", summary, description), route{scope: access.Read}}
}

func (n named) get(summary, description string) endpoint {
	return endpoint{n.operation("get", http.MethodGet, "/{name}", summary, description), route{scope: access.Read}}
}

func (n named) put(summary, description string) endpoint {
	op := n.operation("put", http.MethodPut, "/{name}", summary, description)
	op.Errors = []int{http.StatusPreconditionFailed}
	return endpoint{op, route{scope: n.change, change: true}}
}

func (n named) delete(summary, description string) endpoint {
	op := n.operation("delete", http.MethodDelete, "/{name}", summary, description)
	op.DefaultStatus, op.Errors = http.StatusNoContent, []int{http.StatusPreconditionFailed}
	return endpoint{op, route{scope: n.change, change: true}}
}

func (n named) test(scope access.Scope, summary, description string) endpoint {
	return endpoint{n.operation("test", http.MethodPost, "/{name}/test", summary, description), route{scope: scope, change: true, keyed: true}}
}

// seen returns err, or ErrNotFound if the caller may not see the object.
func seen(ctx context.Context, tenants []string, err error) error {
	if err == nil && !seesAny(ctx, tenants) {
		return weir.ErrNotFound
	}
	return err
}

// noteBefore records for the audit log the value before a change.
func noteBefore[T any](ctx context.Context, name string, find func(context.Context, string) (T, string, error)) {
	if before, _, err := find(ctx, name); err == nil {
		visitOf(ctx).before = before
	}
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

// Name is the name in a path; exported for huma.
type Name struct {
	Name string `path:"name" maxLength:"128" example:"send-message"`
}

func (s *Server) listActions(ctx context.Context, in *struct{ Paging }) (*body[api.Page[api.Action]], error) {
	all, err := s.svc.Actions(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(a api.Action) bool { return !seesAny(ctx, a.Tenants) })
	return paged(all, func(a *api.Action) string { return a.Name }, in.Paging, "action")
}

func (s *Server) getAction(ctx context.Context, in *Name) (*tagged[api.Action], error) {
	a, version, err := s.svc.Action(ctx, in.Name)
	return answerTagged(a, version, seen(ctx, a.Tenants, err))
}

type putActionInput struct {
	Name
	Conditions
	Body api.Action
}

func (s *Server) putAction(ctx context.Context, in *putActionInput) (*tagged[api.Action], error) {
	a := in.Body
	if err := sameName(a.Name, in.Name.Name); err != nil {
		return nil, err
	}
	a.Name = in.Name.Name
	if len(a.Tenants) == 0 {
		a.Tenants = caller(ctx).Tenants
	}
	if !covers(ctx, a.Tenants) {
		return nil, &weir.FieldError{Code: "bad_value", Field: "tenants", Problem: "the key is not for all of them", Fix: "name tenants of the key, or use another key"}
	}
	changed(ctx, a.Name, "")
	noteBefore(ctx, a.Name, s.svc.Action)
	if a.Timeout == 0 && given(ctx, "timeout") {
		return nil, &weir.FieldError{Code: "out_of_range", Field: "timeout", Problem: "0s is not between 1ms and 24h", Fix: "leave it out for 30s"}
	}
	out, version, err := s.svc.PutAction(ctx, a, caller(ctx).KeyID, in.match, mayChangeAction(ctx))
	visitOf(ctx).after = out
	return answerTagged(out, version, err)
}

// sameName wants a name in a body to be that of the path, if there is one.
func sameName(inBody, inPath string) error {
	if inBody == "" || inBody == inPath {
		return nil
	}
	return &weir.FieldError{Code: "bad_value", Field: "name", Problem: "is not the name in the path", Fix: "leave it out"}
}

func mayChangeAction(ctx context.Context) func(api.Action) error {
	return func(a api.Action) error { return mayChange(ctx, a.Tenants) }
}

type deleteNamed struct {
	Name
	Conditions
}

func (s *Server) deleteAction(ctx context.Context, in *deleteNamed) (*struct{}, error) {
	changed(ctx, in.Name.Name, "")
	noteBefore(ctx, in.Name.Name, s.svc.Action)
	return nil, s.svc.DeleteAction(ctx, in.Name.Name, in.match, mayChangeAction(ctx))
}

type testActionInput struct {
	Name
	Body api.ActionTest
}

func (s *Server) testAction(ctx context.Context, in *testActionInput) (*body[api.TrialStep], error) {
	a, _, err := s.svc.Action(ctx, in.Name.Name)
	if err := seen(ctx, a.Tenants, err); err != nil {
		return nil, err
	}
	changed(ctx, a.Name, "")
	return answer(s.svc.TestAction(ctx, a.Name, in.Body))
}
