package server

import (
	"context"
	"fmt"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
)

const resourcePath = "/v1/resources"

func (s *Server) resourceRoutes() {
	tags := "resources"
	r := &collection[api.ResourceStatus]{
		named: named{"resource", access.Control}, get: s.getResource, drop: s.svc.Fleet.DeleteResource,
		all:  onlySeen(s, s.svc.Fleet.Resources, func(r *api.ResourceStatus) string { return r.Name }),
		name: func(r *api.ResourceStatus) *string { return &r.Name },
	}
	add(s, r.list("List resources and their use, by name").about(ownResources).forOperators(), r.listAll)
	add(s, r.one("Get a resource and its use").forOperators(), r.getOne)
	add(s, r.remove("Reset the limits of a resource").
		about("When the response arrives, the limits of the configuration file, or else of the actions, apply again on all nodes.").
		forAll(), r.deleteOne)
	set := put(access.Control, "resource.put", resourcePath+"/{name}", tags, "Set the limits of a resource").
		about("When the response arrives, the limits apply on all nodes, also to running work, and they survive restarts. " +
			"The response takes a few round trips to the store, and at most 1.2 s if a node does not respond: by then that " +
			"node starts no tasks. An omitted limit does not change; `unlimited` and 0 mean no limit; DELETE restores the " +
			"limits of the configuration file or the actions. A resource that no action uses yet is accepted.").forAll()
	set.instead = "omit it to keep it unchanged; \"unlimited\" and 0 mean no limit; DELETE /v1/resources/{name} (weir " +
		"resources reset) restores the configured limits"
	add(s, set, s.putResource)
	add(s, post(access.Control, "resource.circuit", resourcePath+"/{name}/circuit", tags,
		"Open, close or probe a circuit by hand").
		about("open: no task starts on the resource. close: tasks start even if calls fail. free: the circuit follows "+
			"failures again. probe: on each node where the circuit is open, one call tests the service now; if it fails, the "+
			"circuit stays open until the next probe, else it closes in steps as after any probe.").forAll(), s.setCircuit)
}

// ownResources says what keys that are bound to tenants see of resources.
const ownResources = "Keys bound to tenants see the resources of the actions that their tenants may use, and those on which " +
	"their tenants have work."

func (s *Server) getResource(ctx context.Context, name string) (r api.ResourceStatus, version string, err error) {
	sees, err := s.resourcesOf(ctx)
	if err == nil && !sees(name) {
		err = fmt.Errorf("resource %q: %w", name, weir.ErrNotFound)
	}
	if err != nil {
		return r, "", err
	}
	return s.svc.Fleet.Resource(ctx, name)
}

func (s *Server) putResource(ctx context.Context, in *putNamed[api.Resource]) (*tagged[api.ResourceStatus], error) {
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

func (s *Server) setCircuit(ctx context.Context, in *aboutNamed[api.CircuitChange]) (*body[api.ResourceStatus], error) {
	changed(ctx, in.Name.Name, "")
	visitOf(ctx).after = in.Body
	return answer(s.svc.Fleet.SetCircuit(ctx, in.Name.Name, in.Body))
}
