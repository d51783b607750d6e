package server

import (
	"context"
	"slices"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/records"
)

func (s *Server) tenantRoutes() {
	r := &collection[api.Tenant]{
		named: named{"tenant", access.Control}, all: s.svc.Fleet.Tenants, get: s.svc.Fleet.Tenant,
		set: func(ctx context.Context, t api.Tenant, match records.Match) (api.Tenant, string, error) {
			return s.svc.Fleet.PutTenant(ctx, t, caller(ctx).KeyID, match)
		},
		drop:   s.svc.Fleet.DeleteTenant,
		name:   func(t *api.Tenant) *string { return &t.Name },
		sees:   func(ctx context.Context, t api.Tenant) (api.Tenant, bool) { return t, caller(ctx).Sees(t.Name) },
		tenant: func(t *api.Tenant) string { return t.Name },
	}
	r.serve(s,
		r.list("List tenants that have settings, by name").about("Keys bound to tenants see only their own."),
		r.one("Get the weight and the limits of a tenant").about("A tenant without settings has the defaults. Keys bound to "+
			"tenants see only their own."),
		r.put("Set the weight and the limits of a tenant").about("When the response arrives, the settings apply on all "+
			"nodes, also to running work, and they survive restarts. `file` shows the settings of the configuration file.").forAll(),
		r.remove("Reset the weight and the limits of a tenant").about("The settings of the configuration file, or else the "+
			"defaults, apply again. Its work stays.").forAll())
	add(s, get(access.Read, "fairness.get", "/v1/fairness", "tenants", "Show how tenants share resources").
		about("For each resource, shows the tenants with the most work, their fair share by weight and demand, and their "+
			"actual share in the last seconds. Keys bound to tenants see only their own."), s.getFairness)
}

type fairnessInput struct {
	Resource string `query:"resource" maxLength:"128" doc:"Only this resource"`
}

func (s *Server) getFairness(ctx context.Context, in *fairnessInput) (*body[api.Fairness], error) {
	all, err := s.svc.Fleet.Fairness(ctx, caller(ctx).Sees)
	all = slices.DeleteFunc(all, func(t api.TenantShare) bool { return in.Resource != "" && t.Resource != in.Resource })
	return answer(api.Fairness{Data: orEmpty(all)}, err)
}
