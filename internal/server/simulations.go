package server

import (
	"context"
	"errors"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/access"
	"github.com/weirhq/weir/internal/service/outlook"
)

func (s *Server) simulationRoutes() {
	add(s, ask(access.Read, "simulation.run", "/v1/simulations", "before the start",
		"Simulate a bulk action or a described system").
		about("Simulates a bulk action with the current load and other rates, concurrency, workers or weights; or a "+
			"described system. Both run in virtual time with the real scheduler. Changes nothing. "+
			"A described system is simulated for at most two seconds of computing time; if it has not ended by then, the "+
			"result covers the simulated part, with `finished` false."), s.simulate)
	add(s, ask(access.Read, "effect.run", "/v1/effects", "before the start",
		"Show the effect of changed limits on running bulk actions").
		about("Simulates each running bulk action that uses a resource concerned, with the limits of now and with the "+
			"changed ones. Changes nothing. It takes about a second at most; `left_out` counts the bulk actions for which "+
			"there was no time. Keys bound to tenants see the bulk actions of their tenants.").forOperators(),
		func(ctx context.Context, in *request[api.LimitChanges]) (*body[api.Effect], error) {
			sees, err := s.resourcesOf(ctx)
			if err != nil {
				return nil, err
			}
			return answer(s.svc.Outlook.Effect(ctx, &in.Body, outlook.Viewer{Tenant: caller(ctx).Sees, Resource: sees}))
		})
}

func (s *Server) simulate(ctx context.Context, in *request[api.Simulation]) (*body[api.Simulated], error) {
	what := &in.Body
	if err := checkSimulation(what); err != nil {
		return nil, err
	}
	if len(what.World) > 0 {
		return answer(outlook.SimulateWorld(ctx, what.World, what.Runs))
	}
	b, err := s.mine(ctx, what.BulkAction)
	if errors.Is(err, weir.ErrNotFound) {
		detail, fix := s.missing("bulk action", what.BulkAction, bulkPath)
		err = &weir.FieldError{Code: "not_found", Field: "bulk_action", Problem: detail, Fix: fix}
	}
	if err != nil {
		return nil, err
	}
	return answer(s.svc.Outlook.Simulate(ctx, b, what, caller(ctx).Sees))
}

// checkSimulation wants one of the two kinds, and of each only what belongs to it.
func checkSimulation(what *api.Simulation) error {
	var bad weir.InputError
	switch {
	case what.BulkAction == "" && len(what.World) == 0:
		bad.Add("missing_field", "bulk_action", "is missing, and so is world", "name a bulk action, or describe a system in world")
	case what.BulkAction != "" && len(what.World) > 0:
		bad.Add("bad_value", "world", "cannot be combined with bulk_action", "leave one of them out")
	case what.BulkAction != "" && what.Runs != 0:
		bad.Add("bad_value", "runs", "is for described systems", "leave it out")
	case len(what.World) > 0 && (len(what.Rates)+len(what.Concurrency)+len(what.Pacing)+len(what.Weights) > 0 || what.Workers != 0):
		bad.Add("bad_value", "world", "says all of it itself",
			"change it there; rates, concurrency, pacing, workers and weights are for bulk actions")
	}
	return bad.OrNil()
}
