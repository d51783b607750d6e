package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/fleet"
)

const lanePath = "/v1/lanes"

func (s *Server) fleetRoutes() {
	tags := []string{"fleet"}
	add(s, endpoint{huma.Operation{
		OperationID: "lane.list", Method: http.MethodGet, Path: lanePath, Summary: "List lanes, by partition and resource",
		Tags: tags, Description: forOperators,
	}, route{scope: access.Read}}, s.listLanes)
	add(s, endpoint{huma.Operation{
		OperationID: "lane.decisions", Method: http.MethodGet, Path: lanePath + "/{partition}/{lane}/decisions",
		Summary: "List the scaling decisions about a lane, the newest first", Tags: tags, Description: forOperators,
	}, route{scope: access.Read}}, s.laneDecisions)
	add(s, endpoint{huma.Operation{
		OperationID: "lane.pin", Method: http.MethodPut, Path: lanePath + "/{partition}/{lane}/pin",
		Summary: "Pin the workers of a lane for a limited time", Tags: tags, Description: forAll,
	}, route{scope: access.Control, change: true}}, s.pinLane)
	add(s, endpoint{huma.Operation{
		OperationID: "lane.unpin", Method: http.MethodDelete, Path: lanePath + "/{partition}/{lane}/pin",
		Summary: "Remove the pin of a lane, so that it follows its load again", Tags: tags,
		DefaultStatus: http.StatusNoContent, Description: forAll,
	}, route{scope: access.Control, change: true}}, s.unpinLane)
	add(s, endpoint{huma.Operation{
		OperationID: "partition.list", Method: http.MethodGet, Path: "/v1/partitions",
		Summary: "List partitions, their owners and their work", Tags: tags, Description: forOperators,
	}, route{scope: access.Read}}, s.listPartitions)
	add(s, endpoint{huma.Operation{
		OperationID: "node.list", Method: http.MethodGet, Path: "/v1/nodes", Summary: "List nodes", Tags: tags, Description: forOperators,
	}, route{scope: access.Read}}, s.listNodes)
	add(s, endpoint{huma.Operation{
		OperationID: "scale.get", Method: http.MethodGet, Path: "/v1/scale", Summary: "Get the number of nodes that the load needs", Tags: tags,
		Description: "For autoscalers, such as the metrics-api trigger of KEDA with valueLocation `desired_nodes`. Every node returns the same values." + forOperators,
	}, route{scope: access.Read}}, s.getScale)
	add(s, endpoint{huma.Operation{
		OperationID: "scaling.get", Method: http.MethodGet, Path: "/v1/scaling", Summary: "Get the scaling settings",
		Tags: tags, Description: forOperators,
	}, route{scope: access.Read}}, s.getScaling)
	add(s, endpoint{huma.Operation{
		OperationID: "scaling.put", Method: http.MethodPut, Path: "/v1/scaling", Summary: "Change the scaling settings",
		Tags: tags, Errors: []int{http.StatusPreconditionFailed},
		Description: "Omitted fields have the default of each node." + forAll,
	}, route{scope: access.Control, change: true}}, s.putScaling)
	add(s, endpoint{huma.Operation{
		OperationID: "bulk_action.decisions", Method: http.MethodGet, Path: bulkPath + "/{id}/decisions",
		Summary: "List the scaling decisions about the lanes of a bulk action, the newest first", Tags: []string{"bulk actions"},
	}, route{scope: access.Read}}, s.bulkDecisions)
}

func (s *Server) listLanes(ctx context.Context, in *struct{ Paging }) (*body[api.Page[api.Lane]], error) {
	if err := operators(ctx); err != nil {
		return nil, err
	}
	all, err := s.svc.Fleet.Lanes(ctx)
	if err != nil {
		return nil, err
	}
	return paged(all, func(l *api.Lane) string { return padded(l.Partition) + "/" + l.Lane }, in.Paging, "lane")
}

// padded makes names of partitions sort by their number.
func padded(partition string) string {
	for len(partition) < len("p000") {
		partition = "p0" + partition[1:]
	}
	return partition
}

// LaneName is the lane in a path; exported for huma.
type LaneName struct {
	Partition string `path:"partition" maxLength:"16" example:"p03"`
	Lane      string `path:"lane" maxLength:"128" example:"send-message"`
}

type decisionsInput struct {
	LaneName
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Maximum number of decisions"`
}

func (s *Server) laneDecisions(ctx context.Context, in *decisionsInput) (*body[api.Decisions], error) {
	if err := operators(ctx); err != nil {
		return nil, err
	}
	id, err := fleet.LaneID(in.Partition, in.Lane)
	if err != nil {
		return nil, err
	}
	list, err := s.svc.Fleet.Decisions(ctx, id, in.Limit)
	return answer(api.Decisions{Data: orEmpty(list)}, err)
}

type pinInput struct {
	LaneName
	Body api.Pin
}

func (s *Server) pinLane(ctx context.Context, in *pinInput) (*body[api.Pin], error) {
	if err := overall(ctx); err != nil {
		return nil, err
	}
	id, err := fleet.LaneID(in.Partition, in.Lane)
	if err != nil {
		return nil, err
	}
	changed(ctx, id.String(), "")
	visitOf(ctx).after = in.Body
	return answer(s.svc.Fleet.Pin(ctx, id, in.Body))
}

func (s *Server) unpinLane(ctx context.Context, in *LaneName) (*struct{}, error) {
	if err := overall(ctx); err != nil {
		return nil, err
	}
	id, err := fleet.LaneID(in.Partition, in.Lane)
	if err != nil {
		return nil, err
	}
	changed(ctx, id.String(), "")
	return nil, s.svc.Fleet.Unpin(ctx, id)
}

func (s *Server) listPartitions(ctx context.Context, in *struct{ Paging }) (*body[api.Page[api.Partition]], error) {
	if err := operators(ctx); err != nil {
		return nil, err
	}
	all, err := s.svc.Fleet.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	return paged(all, func(p *api.Partition) string { return padded(p.Partition) }, in.Paging, "partition")
}

func (s *Server) listNodes(ctx context.Context, in *struct{ Paging }) (*body[api.Page[api.Node]], error) {
	if err := operators(ctx); err != nil {
		return nil, err
	}
	all, err := s.svc.Fleet.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	return paged(all, func(n *api.Node) string { return n.Node }, in.Paging, "node")
}

func (s *Server) getScale(ctx context.Context, _ *struct{}) (*body[api.Scale], error) {
	if err := operators(ctx); err != nil {
		return nil, err
	}
	return answer(s.svc.Fleet.Scale(ctx))
}

func (s *Server) getScaling(ctx context.Context, _ *struct{}) (*tagged[api.ScalingSettings], error) {
	if err := operators(ctx); err != nil {
		return nil, err
	}
	return answerTagged(s.svc.Fleet.Scaling(ctx))
}

type scalingInput struct {
	Conditions
	Body api.ScalingSettings
}

func (s *Server) putScaling(ctx context.Context, in *scalingInput) (*tagged[api.ScalingSettings], error) {
	if err := overall(ctx); err != nil {
		return nil, err
	}
	changed(ctx, "scaling", "")
	if before, _, err := s.svc.Fleet.Scaling(ctx); err == nil {
		visitOf(ctx).before = before
	}
	visitOf(ctx).after = in.Body
	return answerTagged(s.svc.Fleet.PutScaling(ctx, in.Body, in.match))
}

type bulkDecisionsInput struct {
	BulkID
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Maximum number of decisions"`
}

func (s *Server) bulkDecisions(ctx context.Context, in *bulkDecisionsInput) (*body[api.Decisions], error) {
	if _, err := s.mine(ctx, in.ID); err != nil {
		return nil, err
	}
	b, err := s.svc.Bulks.Bulk(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	list, err := s.svc.Fleet.BulkDecisions(ctx, b, in.Limit)
	return answer(api.Decisions{Data: orEmpty(list)}, err)
}
