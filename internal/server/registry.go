package server

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/access"
)

const actionPath = "/v1/actions"

func (s *Server) actionRoutes() {
	tags := []string{"actions"}
	add(s, endpoint{huma.Operation{
		OperationID: "action.list", Method: http.MethodGet, Path: actionPath, Summary: "List actions, by name", Tags: tags,
		Description: "Those of the program, of the configuration file and of the API. Keys for tenants see those that their tenants may use.",
	}, route{scope: access.Read}}, s.listActions)
	add(s, endpoint{huma.Operation{
		OperationID: "action.get", Method: http.MethodGet, Path: actionPath + "/{name}", Summary: "Get an action", Tags: tags,
		Description: "Secrets and header values are never shown: `[secret]` stands for one.",
	}, route{scope: access.Read}}, s.getAction)
	add(s, endpoint{huma.Operation{
		OperationID: "action.put", Method: http.MethodPut, Path: actionPath + "/{name}", Summary: "Make or change an HTTP action", Tags: tags, Errors: []int{http.StatusPreconditionFailed},
		Description: "All nodes use it within a second, also for the calls of bulk actions that run. A secret sent as `[secret]` stays as it is. " +
			"Actions of the program and of the configuration file cannot be changed. Keys for tenants make actions for their tenants only.",
	}, route{scope: access.Admin, change: true}}, s.putAction)
	add(s, endpoint{huma.Operation{
		OperationID: "action.delete", Method: http.MethodDelete, Path: actionPath + "/{name}", Summary: "Delete an action", Tags: tags, DefaultStatus: http.StatusNoContent,
		Description: "Nothing new can use it; bulk actions that have it go on.", Errors: []int{http.StatusPreconditionFailed},
	}, route{scope: access.Admin, change: true}}, s.deleteAction)
	add(s, endpoint{huma.Operation{
		OperationID: "action.test", Method: http.MethodPost, Path: actionPath + "/{name}/test", Summary: "Send a made-up batch to an action", Tags: tags,
		Description: "One signed call, a dry run unless said otherwise. The answer shows what was sent and what came back, what would become of each item, and what is wrong with the answer. " +
			"Actions of the program are not run dry: they would do their work.",
	}, route{scope: access.Submit, change: true, keyed: true}}, s.testAction)
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
	if err == nil && !seesAny(ctx, a.Tenants) {
		err = weir.ErrNotFound
	}
	return answerTagged(a, version, err)
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
	if before, _, err := s.svc.Action(ctx, a.Name); err == nil {
		visitOf(ctx).before = before
	}
	if a.Timeout == 0 && given(ctx, "timeout") {
		return nil, &weir.FieldError{Code: "out_of_range", Field: "timeout", Problem: "0s is not between 1ms and 24h", Fix: "leave it out for 30s"}
	}
	out, version, err := s.svc.PutAction(ctx, a, in.match, mayChangeAction(ctx))
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

// mayChangeAction refuses to change what is others', too. That is told only to those who see it.
func mayChangeAction(ctx context.Context) func(api.Action) error {
	return func(a api.Action) error {
		switch {
		case covers(ctx, a.Tenants):
			return nil
		case !seesAny(ctx, a.Tenants):
			return weir.ErrNotFound
		}
		return overall(ctx)
	}
}

type deleteNamed struct {
	Name
	Conditions
}

func (s *Server) deleteAction(ctx context.Context, in *deleteNamed) (*struct{}, error) {
	changed(ctx, in.Name.Name, "")
	if before, _, err := s.svc.Action(ctx, in.Name.Name); err == nil {
		visitOf(ctx).before = before
	}
	return nil, s.svc.DeleteAction(ctx, in.Name.Name, in.match, mayChangeAction(ctx))
}

type testActionInput struct {
	Name
	Body api.ActionTest
}

func (s *Server) testAction(ctx context.Context, in *testActionInput) (*body[api.TrialStep], error) {
	a, _, err := s.svc.Action(ctx, in.Name.Name)
	if err == nil && !seesAny(ctx, a.Tenants) {
		err = weir.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	changed(ctx, a.Name, "")
	return answer(s.svc.TestAction(ctx, a.Name, in.Body))
}
