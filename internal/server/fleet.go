package server

import (
	"context"
	"maps"
	"math"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/fleet"
)

const lanePath = "/v1/lanes"

func (s *Server) fleetRoutes() {
	tags := "fleet"
	add(s, get(access.Read, "lane.list", lanePath, tags, "List lanes, by partition and resource").about(ownResources).forOperators(),
		pages(s.lanes(), "lane", func(l *api.Lane) string { return padded(l.Partition) + "/" + l.Lane }))
	add(s, get(access.Read, "lane.decisions", lanePath+"/{partition}/{lane}/decisions", tags,
		"List the scaling decisions about a lane, the newest first").forOperators(), s.laneDecisions)
	add(s, put(access.Control, "lane.pin", lanePath+"/{partition}/{lane}/pin", tags,
		"Pin the workers of a lane for a limited time").forAll(), s.pinLane)
	add(s, del(access.Control, "lane.unpin", lanePath+"/{partition}/{lane}/pin", tags,
		"Remove the pin of a lane, so that it follows its load again").forAll(), s.unpinLane)
	add(s, get(access.Read, "partition.list", "/v1/partitions", tags,
		"List partitions, their owners and their work").about(ownResources+" Lanes and items of others are not counted.").forOperators(),
		pages(s.partitions, "partition", func(p *api.Partition) string { return padded(p.Partition) }))
	add(s, get(access.Read, "partitioning.get", "/v1/partitioning", tags, "Get the number of partitions").forOperators(),
		func(ctx context.Context, _ *struct{}) (*tagged[api.PartitioningStatus], error) {
			return answerTagged(s.svc.Fleet.Partitioning(ctx))
		})
	add(s, put(access.Control, "partitioning.put", "/v1/partitioning", tags, "Change the number of partitions").
		about("New work follows the new number at once; existing work ends where it is, and partitions beyond the number are "+
			"kept until then. Nodes whose configuration has another number change it back when they start.").forAll(), s.putPartitioning)
	add(s, get(access.Read, "node.list", "/v1/nodes", tags, "List nodes").
		about(ownResources+" Tasks on others are not counted, and these keys do not see the load of the machines.").forOperators(),
		pages(s.nodes, "node", func(n *api.Node) string { return n.Node }))
	add(s, get(access.Read, "scale.get", "/v1/scale", tags, "Get the number of nodes that the load needs").
		about("For autoscalers, such as the metrics-api trigger of KEDA with valueLocation `desired_nodes`. Every node "+
			"returns the same values. "+ownResources+" Workers of other lanes are not counted.").forOperators(), func(ctx context.Context, _ *struct{}) (*body[api.Scale], error) {
		return answer(s.scale(ctx))
	})
	add(s, get(access.Read, "scaling.get", "/v1/scaling", tags, "Get the scaling settings").forOperators(),
		func(ctx context.Context, _ *struct{}) (*tagged[api.ScalingSettings], error) {
			return answerTagged(s.scaling(ctx))
		})
	add(s, put(access.Control, "scaling.put", "/v1/scaling", tags, "Change the scaling settings").
		about("Omitted fields have the default of each node.").forAll(), s.putScaling)
	add(s, get(access.Read, "bulk_action.decisions", bulkPath+"/{id}/decisions", bulkTag,
		"List the scaling decisions about the lanes of a bulk action, the newest first"), ofBulk(s, s.bulkDecisions))
	add(s, get(access.Read, "bulk_action.timeline", bulkPath+"/{id}/timeline", bulkTag,
		"List what happened to a bulk action, the newest first").
		about("Commands with who gave them, the first failure of each error group, and the end. Scaling decisions are under decisions."), ofBulk(s, s.timeline))
}

// lanes returns the list of lanes as the caller sees it.
func (s *Server) lanes() func(context.Context) ([]api.Lane, error) {
	return onlySeen(s, s.svc.Fleet.Lanes, func(l *api.Lane) string { return l.Lane })
}

// partitions returns the list of partitions, with the work that the caller sees.
func (s *Server) partitions(ctx context.Context) ([]api.Partition, error) {
	sees, err := s.resourcesOf(ctx)
	if err != nil {
		return nil, err
	}
	return s.svc.Fleet.Partitions(ctx, sees)
}

// nodes returns the list of nodes, with the tasks that the caller sees.
func (s *Server) nodes(ctx context.Context) ([]api.Node, error) {
	sees, err := s.resourcesOf(ctx)
	if err != nil {
		return nil, err
	}
	list, err := s.svc.Fleet.Nodes(ctx, sees)
	if !caller(ctx).SeesAll() {
		for i := range list {
			list[i].CPU, list[i].Memory = 0, 0 // the load of all tenants
		}
	}
	return list, err
}

// scale returns the figures for an autoscaler, with the lanes that the caller sees.
func (s *Server) scale(ctx context.Context) (api.Scale, error) {
	out, err := s.svc.Fleet.Scale(ctx)
	if err != nil || caller(ctx).SeesAll() {
		return out, err
	}
	out.Lanes, err = onlySeen(s, func(context.Context) ([]api.Lane, error) { return out.Lanes, nil }, func(l *api.Lane) string { return l.Lane })(ctx)
	need := 0.0
	out.Workers = 0
	for i := range out.Lanes {
		out.Workers, need = out.Workers+max(out.Lanes[i].Workers, 0), need+out.Lanes[i].Need // less than 0: only the slots bound it
	}
	out.DesiredWorkers = int(math.Ceil(need))
	return out, err
}

// scaling returns the settings, without what names resources that the caller may not learn of.
func (s *Server) scaling(ctx context.Context) (api.ScalingSettings, string, error) {
	out, version, err := s.svc.Fleet.Scaling(ctx)
	if err != nil {
		return out, version, err
	}
	sees, err := s.resourcesOf(ctx)
	hidden := func(resource, _ string) bool { return !sees(resource) }
	out.Timetables, out.RateRules = maps.Clone(out.Timetables), maps.Clone(out.RateRules)
	maps.DeleteFunc(out.Timetables, hidden)
	maps.DeleteFunc(out.RateRules, hidden)
	return out, version, err
}

// pages serves a list that is short enough to be read whole; key orders it.
func pages[T any](all func(context.Context) ([]T, error), list string,
	key func(*T) string) func(context.Context, *struct{ Paging }) (*body[api.Page[T]], error) {
	return func(ctx context.Context, in *struct{ Paging }) (*body[api.Page[T]], error) {
		found, err := all(ctx)
		if err != nil {
			return nil, err
		}
		return paged(found, key, in.Paging, list)
	}
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
	id, err := fleet.LaneID(in.Partition, in.Lane)
	if err != nil {
		return nil, err
	}
	sees, err := s.resourcesOf(ctx)
	if err != nil || !sees(in.Lane) { // as a lane that does not exist
		return answer(api.Decisions{Data: []api.Decision{}}, err)
	}
	list, err := s.svc.Fleet.Decisions(ctx, id, in.Limit)
	return answer(api.Decisions{Data: orEmpty(list)}, err)
}

type pinInput struct {
	LaneName
	Body api.Pin
}

func (s *Server) pinLane(ctx context.Context, in *pinInput) (*body[api.Pin], error) {
	id, err := fleet.LaneID(in.Partition, in.Lane)
	if err != nil {
		return nil, err
	}
	changed(ctx, id.String(), "")
	visitOf(ctx).after = in.Body
	return answer(s.svc.Fleet.Pin(ctx, id, in.Body))
}

func (s *Server) unpinLane(ctx context.Context, in *LaneName) (*struct{}, error) {
	id, err := fleet.LaneID(in.Partition, in.Lane)
	if err != nil {
		return nil, err
	}
	changed(ctx, id.String(), "")
	return nil, s.svc.Fleet.Unpin(ctx, id)
}

type scalingInput struct {
	Conditions
	Body api.ScalingSettings
}

func (s *Server) putScaling(ctx context.Context, in *scalingInput) (*tagged[api.ScalingSettings], error) {
	changed(ctx, "scaling", "")
	if before, _, err := s.svc.Fleet.Scaling(ctx); err == nil {
		visitOf(ctx).before = before
	}
	visitOf(ctx).after = in.Body
	return answerTagged(s.svc.Fleet.PutScaling(ctx, in.Body, in.match))
}

type partitioningInput struct {
	Conditions
	DryRun bool `query:"dry_run" doc:"Change nothing: check the request and return what it would lead to"`
	Body   api.Partitioning
}

func (s *Server) putPartitioning(ctx context.Context, in *partitioningInput) (*tagged[api.PartitioningStatus], error) {
	changed(ctx, "partitioning", "")
	v := visitOf(ctx)
	v.unchanged, v.after = in.DryRun, api.Partitioning{Partitions: in.Body.Partitions}
	if before, _, err := s.svc.Fleet.Partitioning(ctx); err == nil {
		v.before = before
	}
	return answerTagged(s.svc.Fleet.PutPartitioning(ctx, in.Body.Partitions, in.DryRun, in.match))
}

type bulkDecisionsInput struct {
	BulkID
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Maximum number of decisions"`
}

func (s *Server) bulkDecisions(ctx context.Context, in *bulkDecisionsInput) (*body[api.Decisions], error) {
	b, err := s.svc.Bulks.Bulk(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	list, err := s.svc.Fleet.BulkDecisions(ctx, b, in.Limit)
	return answer(api.Decisions{Data: orEmpty(list)}, err)
}
