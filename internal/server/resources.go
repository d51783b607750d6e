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
const forOperators = " Only for keys that are not bound to tenants, or that have the scope `control`."

// forAll is said of routes that change what all tenants share.
const forAll = " Only for keys that are not bound to tenants."

func (s *Server) resourceRoutes() {
	tags := []string{"resources"}
	r := &resource[api.ResourceStatus]{
		named: named{"resource", access.Control}, all: s.svc.Fleet.Resources, get: s.svc.Fleet.Resource, remove: s.svc.Fleet.DeleteResource,
		name: func(r *api.ResourceStatus) *string { return &r.Name }, reads: operators, changes: overall,
	}
	r.serve(s, text{"List resources and their use, by name", forOperators}, text{"Get a resource and its use", forOperators}, text{},
		text{"Reset the limits of a resource",
			"When the response arrives, the limits of the configuration file, or else of the actions, apply again on all nodes." + forAll})
	add(s, endpoint{huma.Operation{
		OperationID: "resource.put", Method: http.MethodPut, Path: resourcePath + "/{name}",
		Summary: "Set the limits of a resource", Tags: tags, Errors: []int{http.StatusPreconditionFailed},
		Description: "When the response arrives, the limits apply on all nodes, also to running work, and they survive restarts. The response takes a few round trips to the store, and at most 1.2 s if a node does not respond: by then that node starts no tasks. An omitted limit does not change; `unlimited` and 0 mean no limit; DELETE restores the limits of the configuration file or the actions. A resource that no action uses yet is accepted." + forAll,
	}, route{
		scope: access.Control, change: true,
		instead: "omit it to keep it unchanged; \"unlimited\" and 0 mean no limit; DELETE /v1/resources/{name} (weir resources reset) restores the configured limits",
	}}, s.putResource)
	add(s, endpoint{huma.Operation{
		OperationID: "resource.circuit", Method: http.MethodPost, Path: resourcePath + "/{name}/circuit",
		Summary: "Open or close a circuit by hand", Tags: tags,
		Description: "open: no task starts on the resource. close: tasks start even if calls fail. free: the circuit follows failures again." + forAll,
	}, route{scope: access.Control, change: true, keyed: true}}, s.setCircuit)
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
	if before, _, err := s.svc.Fleet.Resource(ctx, r.Name); err == nil {
		visitOf(ctx).before = api.Resource{Name: r.Name, Rate: &before.Rate, Concurrency: &before.Concurrency, Pacing: &before.Pacing}
	}
	visitOf(ctx).after = r
	return answerTagged(s.svc.Fleet.PutResource(ctx, r, caller(ctx).KeyID, in.match))
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
	return answer(s.svc.Fleet.SetCircuit(ctx, in.Name.Name, in.Body))
}
