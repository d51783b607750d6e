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

func (s *Server) tenantRoutes() {
	n := named{"tenant", access.Control}
	add(s, n.list("List tenants that have settings, by name",
		"Keys bound to tenants see only their own."), s.listTenants)
	add(s, n.get("Get the weight and the limits of a tenant",
		"A tenant without settings has the defaults. Keys bound to tenants see only their own."), s.getTenant)
	add(s, n.put("Set the weight and the limits of a tenant",
		"When the response arrives, the settings apply on all nodes, also to running work, and they survive restarts. `file` shows the settings of the configuration file."+forAll), s.putTenant)
	add(s, n.delete("Reset the weight and the limits of a tenant",
		"The settings of the configuration file, or else the defaults, apply again. Its work stays."+forAll), s.deleteTenant)
	add(s, endpoint{huma.Operation{
		OperationID: "fairness.get", Method: http.MethodGet, Path: "/v1/fairness", Summary: "Show how tenants share resources", Tags: []string{"tenants"},
		Description: "For each resource, shows the tenants with the most work, their fair share by weight and demand, and their actual share in the last seconds. Keys bound to tenants see only their own.",
	}, route{scope: access.Read}}, s.getFairness)
}

func (s *Server) listTenants(ctx context.Context, in *struct{ Paging }) (*body[api.Page[api.Tenant]], error) {
	all, err := s.svc.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(t api.Tenant) bool { return !caller(ctx).Sees(t.Name) })
	return paged(all, func(t *api.Tenant) string { return t.Name }, in.Paging, "tenant")
}

func (s *Server) getTenant(ctx context.Context, in *Name) (*tagged[api.Tenant], error) {
	if !caller(ctx).Sees(in.Name) {
		return nil, weir.ErrNotFound
	}
	return answerTagged(s.svc.Tenant(ctx, in.Name))
}

type putTenantInput struct {
	Name
	Conditions
	Body api.Tenant
}

func (s *Server) putTenant(ctx context.Context, in *putTenantInput) (*tagged[api.Tenant], error) {
	if err := overall(ctx); err != nil {
		return nil, err
	}
	t := in.Body
	if err := sameName(t.Name, in.Name.Name); err != nil {
		return nil, err
	}
	t.Name = in.Name.Name
	changed(ctx, t.Name, t.Name)
	noteBefore(ctx, t.Name, s.svc.Tenant)
	out, version, err := s.svc.PutTenant(ctx, t, caller(ctx).KeyID, in.match)
	visitOf(ctx).after = out
	return answerTagged(out, version, err)
}

func (s *Server) deleteTenant(ctx context.Context, in *deleteNamed) (*struct{}, error) {
	if err := overall(ctx); err != nil {
		return nil, err
	}
	changed(ctx, in.Name.Name, in.Name.Name)
	return nil, s.svc.DeleteTenant(ctx, in.Name.Name, in.match)
}

type fairnessInput struct {
	Resource string `query:"resource" maxLength:"128" doc:"Only this resource"`
}

func (s *Server) getFairness(ctx context.Context, in *fairnessInput) (*body[api.Fairness], error) {
	all, err := s.svc.Fairness(ctx)
	all = slices.DeleteFunc(all, func(t api.TenantShare) bool {
		return !caller(ctx).Sees(t.Tenant) || in.Resource != "" && t.Resource != in.Resource
	})
	return answer(api.Fairness{Data: orEmpty(all)}, err)
}
