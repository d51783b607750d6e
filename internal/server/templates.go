package server

import (
	"context"
	"slices"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
)

func (s *Server) templateRoutes() {
	n := named{"template", access.Submit}
	add(s, n.list("List templates, by name",
		"Keys bound to tenants see the templates of their tenants and the shared ones."), s.listTemplates)
	add(s, n.get("Get a template",
		"The secret of its callback is never shown."), s.getTemplate)
	add(s, n.put("Create or change a template",
		"Existing bulk actions do not change; schedules use the new version from their next time on. An omitted secret of the callback is kept as long as the URL does not change. "+
			"Keys bound to tenants create templates for one of their tenants only."), s.putTemplate)
	add(s, n.delete("Delete a template",
		"Existing bulk actions do not change; schedules that need it fail at their next time."), s.deleteTemplate)
}

// ownersOf are the tenants who can use a template; none means all.
func ownersOf(t *api.Template) []string {
	if t.Tenant == "" {
		return nil
	}
	return []string{t.Tenant}
}

func (s *Server) listTemplates(ctx context.Context, in *struct{ Paging }) (*body[api.Page[api.Template]], error) {
	all, err := s.svc.Templates(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(t api.Template) bool { return !seesAny(ctx, ownersOf(&t)) })
	return paged(all, func(t *api.Template) string { return t.Name }, in.Paging, "template")
}

func (s *Server) getTemplate(ctx context.Context, in *Name) (*tagged[api.Template], error) {
	t, version, err := s.svc.Template(ctx, in.Name)
	return answerTagged(t, version, seen(ctx, ownersOf(&t), err))
}

type putTemplateInput struct {
	Name
	Conditions
	Body api.Template
}

func (s *Server) putTemplate(ctx context.Context, in *putTemplateInput) (*tagged[api.Template], error) {
	t := in.Body
	if err := sameName(t.Name, in.Name.Name); err != nil {
		return nil, err
	}
	t.Name = in.Name.Name
	if t.Tenant != "" || !caller(ctx).SeesAll() {
		tenant, err := tenantFor(ctx, "tenant", t.Tenant)
		if err != nil {
			return nil, err
		}
		t.Tenant = tenant
	}
	changed(ctx, t.Name, t.Tenant)
	noteBefore(ctx, t.Name, s.svc.Template)
	out, version, err := s.svc.PutTemplate(ctx, t, in.match, mayChangeTemplate(ctx))
	visitOf(ctx).after = out
	return answerTagged(out, version, err)
}

func mayChangeTemplate(ctx context.Context) func(api.Template) error {
	return func(t api.Template) error { return mayChange(ctx, ownersOf(&t)) }
}

func (s *Server) deleteTemplate(ctx context.Context, in *deleteNamed) (*struct{}, error) {
	t, _, err := s.svc.Template(ctx, in.Name.Name)
	if err != nil {
		return nil, err
	}
	changed(ctx, t.Name, t.Tenant)
	visitOf(ctx).before = t
	return nil, s.svc.DeleteTemplate(ctx, t.Name, in.match, mayChangeTemplate(ctx))
}

// tenantOf says whose a new bulk action is. Where the request does not, its template may.
func (s *Server) tenantOf(ctx context.Context, n *api.NewBulkAction) (string, error) {
	if n.Tenant == "" && n.Template != "" {
		t, _, err := s.svc.Template(ctx, n.Template)
		if err == nil && t.Tenant != "" && sees(ctx, t.Tenant) {
			return t.Tenant, nil
		}
	}
	return tenantFor(ctx, "tenant", n.Tenant)
}
