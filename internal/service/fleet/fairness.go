package fleet

import (
	"cmp"
	"context"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine/telemetry"
)

// Fairness returns, for each resource, how the tenants with the most work share it over all nodes:
// by resource, the tenants with the largest share first.
func (s *Fleet) Fairness(ctx context.Context) ([]api.TenantShare, error) {
	nodes, err := s.engine.Operator().Nodes(ctx)
	if err != nil {
		return nil, err
	}
	limits, err := s.engine.Operator().Limits(ctx)
	if err != nil {
		return nil, err
	}
	weight := func(tenant string) float64 { return cmp.Or(limits.Tenant(tenant).Weight, 1) }
	var lanes []weir.Lane
	for i := range nodes {
		lanes = append(lanes, nodes[i].Lanes...)
	}
	shares := telemetry.Shares(lanes, weight)
	out := make([]api.TenantShare, 0, len(shares))
	for _, x := range shares {
		out = append(out, api.TenantShare{
			Resource: x.Resource, Tenant: x.Tenant, Weight: x.Weight, Entitled: x.Entitled, Actual: x.Actual,
			InFlight: x.InFlight, Ready: x.Ready, Rate: x.Rate,
		})
	}
	slices.SortStableFunc(out, func(a, b api.TenantShare) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(b.Entitled, a.Entitled), cmp.Compare(a.Tenant, b.Tenant))
	})
	return out, nil
}
