package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
)

const resourcePath = "/v1/resources"

// forOperators is said of routes that show what all tenants share.
const forOperators = " For keys that are not bound to tenants, or that have the scope `control`."

// forAll is said of routes that change what all tenants share.
const forAll = " Only for keys that are not bound to tenants."

func (s *Server) resourceRoutes() {
	tags := []string{"resources"}
	add(s, endpoint{huma.Operation{
		OperationID: "resource.list", Method: http.MethodGet, Path: resourcePath, Summary: "List resources and how they are used, by name", Tags: tags, Description: forOperators,
	}, route{scope: access.Read}}, s.listResources)
	add(s, endpoint{huma.Operation{
		OperationID: "resource.get", Method: http.MethodGet, Path: resourcePath + "/{name}", Summary: "Get a resource and how it is used", Tags: tags, Description: forOperators,
	}, route{scope: access.Read}}, s.getResource)
	add(s, endpoint{huma.Operation{
		OperationID: "resource.put", Method: http.MethodPut, Path: resourcePath + "/{name}", Summary: "Set the limits of a resource", Tags: tags, Errors: []int{http.StatusPreconditionFailed},
		Description: "They hold on all nodes, also for work that runs, when this is answered, and after restarts. The answer takes a few round trips to the store, and 1.2 s at most if a node does not respond: by then that node starts nothing. A limit that is left out stays as it is; `unlimited` and 0 mean no limit; DELETE goes back to the configuration file or the actions. A resource that nothing uses yet is accepted: its action may come later." + forAll,
	}, route{
		scope: access.Control, change: true,
		instead: "leave it out and it stays as it is; \"unlimited\" and 0 mean no limit; DELETE /v1/resources/{name} (weir resources reset) removes what was set",
	}}, s.putResource)
	add(s, named{"resource", access.Control}.delete("Reset the limits of a resource",
		"Those of the configuration file, or else of the actions, hold again on all nodes when this is answered."+forAll), s.deleteResource)
	add(s, endpoint{huma.Operation{
		OperationID: "resource.circuit", Method: http.MethodPost, Path: resourcePath + "/{name}/circuit", Summary: "Open or close a circuit by hand", Tags: tags,
		Description: "Open: nothing starts on the resource. Closed: work starts whatever fails. Free: it follows what happens again." + forAll,
	}, route{scope: access.Control, change: true, keyed: true}}, s.setCircuit)
}

func (s *Server) listResources(ctx context.Context, in *struct{ Paging }) (*body[api.Page[api.ResourceStatus]], error) {
	if err := operators(ctx); err != nil {
		return nil, err
	}
	all, err := s.svc.Resources(ctx)
	if err != nil {
		return nil, err
	}
	return paged(all, func(r *api.ResourceStatus) string { return r.Name }, in.Paging, "resource")
}

func (s *Server) getResource(ctx context.Context, in *Name) (*tagged[api.ResourceStatus], error) {
	if err := operators(ctx); err != nil {
		return nil, err
	}
	return answerTagged(s.svc.Resource(ctx, in.Name))
}

type putResourceInput struct {
	Name
	Conditions
	Body api.Resource
}

func (s *Server) putResource(ctx context.Context, in *putResourceInput) (*tagged[api.ResourceStatus], error) {
	if err := overall(ctx); err != nil {
		return nil, err
	}
	r := in.Body
	if err := sameName(r.Name, in.Name.Name); err != nil {
		return nil, err
	}
	r.Name = in.Name.Name
	changed(ctx, r.Name, "")
	if before, _, err := s.svc.Resource(ctx, r.Name); err == nil {
		visitOf(ctx).before = api.Resource{Name: r.Name, Rate: &before.Rate, Concurrency: &before.Concurrency, Pacing: &before.Pacing}
	}
	visitOf(ctx).after = r
	return answerTagged(s.svc.PutResource(ctx, r, caller(ctx).KeyID, in.match))
}

func (s *Server) deleteResource(ctx context.Context, in *deleteNamed) (*struct{}, error) {
	if err := overall(ctx); err != nil {
		return nil, err
	}
	changed(ctx, in.Name.Name, "")
	noteBefore(ctx, in.Name.Name, s.svc.Resource)
	return nil, s.svc.DeleteResource(ctx, in.Name.Name, in.match)
}

type circuitInput struct {
	Name
	Body api.CircuitChange
}

func (s *Server) setCircuit(ctx context.Context, in *circuitInput) (*body[api.ResourceStatus], error) {
	if err := overall(ctx); err != nil {
		return nil, err
	}
	changed(ctx, in.Name.Name, "")
	visitOf(ctx).after = in.Body
	return answer(s.svc.SetCircuit(ctx, in.Name.Name, in.Body))
}
