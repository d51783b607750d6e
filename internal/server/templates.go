package server

import (
	"context"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/records"
)

func (s *Server) templateRoutes() {
	may := func(ctx context.Context) func(api.Template) error {
		return func(t api.Template) error { return mayChange(ctx, ownersOf(&t)) }
	}
	r := &collection[api.Template]{
		named: named{"template", access.Submit}, all: s.svc.Templates.All, get: s.svc.Templates.Get,
		set: func(ctx context.Context, t api.Template, match records.Match) (api.Template, string, error) {
			return s.svc.Templates.Put(ctx, t, s.svc.Drafts, match, may(ctx))
		},
		drop: func(ctx context.Context, name string, match records.Match) error {
			return s.svc.Templates.Delete(ctx, name, match, may(ctx))
		},
		name: func(t *api.Template) *string { return &t.Name },
		sees: func(ctx context.Context, t api.Template) (api.Template, bool) {
			who := caller(ctx)
			return t, who.SeesAll() || s.svc.Templates.UsableBy(&t, who.Tenants)
		},
		tenant: func(t *api.Template) string { return t.Tenant },
		prepare: func(ctx context.Context, t *api.Template) (err error) {
			if t.Tenant != "" || !caller(ctx).SeesAll() {
				t.Tenant, err = tenantFor(ctx, "tenant", t.Tenant)
			}
			return err
		},
	}
	r.serve(s,
		r.list("List templates, by name").about("Keys bound to tenants see the templates of their tenants, and the "+
			"shared ones of which their tenants may use all actions."),
		r.one("Get a template").about("The secret of its callback is never shown."),
		r.put("Create or change a template").about("Existing bulk actions do not change; schedules use the new version from "+
			"their next time on. An omitted secret of the callback is kept as long as the URL does not change. "+
			"Keys bound to tenants create templates for one of their tenants only."),
		r.remove("Delete a template").about("Existing bulk actions do not change; schedules that need it fail at their next time."))
}

// ownersOf are the tenants who can use a template; none means all.
func ownersOf(t *api.Template) []string {
	if t.Tenant == "" {
		return nil
	}
	return []string{t.Tenant}
}

// tenantOf says whose a new bulk action is. Where the request does not, its template may.
func (s *Server) tenantOf(ctx context.Context, n *api.NewBulkAction) (string, error) {
	if n.Tenant == "" && n.Template != "" {
		t, _, err := s.svc.Templates.Get(ctx, n.Template)
		if err == nil && t.Tenant != "" && sees(ctx, t.Tenant) {
			return t.Tenant, nil
		}
	}
	return tenantFor(ctx, "tenant", n.Tenant)
}
