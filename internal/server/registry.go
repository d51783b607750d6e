package server

import (
	"context"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/records"
)

func (s *Server) actions() *collection[api.Action] {
	may := func(ctx context.Context) func(api.Action) error {
		return func(a api.Action) error { return mayChange(ctx, a.Tenants) }
	}
	return &collection[api.Action]{
		named: named{"action", access.Admin}, all: s.svc.Actions.All, get: s.svc.Actions.Get,
		set: func(ctx context.Context, a api.Action, match records.Match) (api.Action, string, error) {
			if a.Timeout == 0 && given(ctx, "timeout") {
				return a, "", &weir.FieldError{Code: "out_of_range", Field: "timeout", Problem: "0s is not between 1ms and 24h",
					Fix: "leave it out for 30s"}
			}
			return s.svc.Actions.Put(ctx, a, caller(ctx).KeyID, match, may(ctx))
		},
		drop: func(ctx context.Context, name string, match records.Match) error {
			return s.svc.Actions.Delete(ctx, name, match, may(ctx))
		},
		name: func(a *api.Action) *string { return &a.Name },
		sees: func(ctx context.Context, a api.Action) (api.Action, bool) { return a, seesAny(ctx, a.Tenants) },
		prepare: func(ctx context.Context, a *api.Action) error {
			return ownTenants(ctx, &a.Tenants, "the key is not for all of them", "name tenants of the key, or use another key")
		},
	}
}

func (s *Server) actionRoutes() {
	r := s.actions()
	r.serve(s,
		r.list("List actions, by name").about("Lists the actions of the program, of the configuration file and of the API. "+
			"Keys bound to tenants see the actions that their tenants may use."),
		r.one("Get an action").about("Secrets and header values are never shown: `[secret]` stands for one."),
		r.put("Create or change an HTTP action").about("All nodes use it within a second, also for bulk actions that are "+
			"running. A secret sent as `[secret]` does not change. "+
			"It overrides an action of the configuration file with the same name, also after restarts. Actions of the program "+
			"cannot be changed. Keys bound to tenants create actions for their tenants only."),
		r.remove("Delete an action").about("If the configuration file has an action of this name, that action applies "+
			"again. Otherwise new bulk actions cannot use it, and schedules that need it fail at their next time. Existing bulk "+
			"actions and drafts continue to use it: pause or cancel them to end the calls."))
	add(s, r.test(access.Submit, "Send a test batch to an action").about("Makes one signed call, marked as a dry run "+
		"unless dry_run is false. The response shows the request and the response of the endpoint, the result of each item, "+
		"and any error in the endpoint's response. Items that do not match the schema of the action are refused. "+
		"Actions of the program have no dry run: they would do their work."), s.testAction)
}

// ownTenants gives a thing the tenants of the caller, unless it names its own, which the caller must see.
func ownTenants(ctx context.Context, tenants *[]string, problem, fix string) error {
	if len(*tenants) == 0 {
		*tenants = caller(ctx).Tenants
	}
	if !covers(ctx, *tenants) {
		return &weir.FieldError{Code: "bad_value", Field: "tenants", Problem: problem, Fix: fix}
	}
	return nil
}

func (s *Server) testAction(ctx context.Context, in *aboutNamed[api.ActionTest]) (*body[api.TrialStep], error) {
	a, _, err := s.actions().find(ctx, in.Name.Name)
	if err != nil {
		return nil, err
	}
	changed(ctx, a.Name, "")
	return answer(s.svc.Actions.Test(ctx, a.Name, in.Body))
}
