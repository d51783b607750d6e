package fleet

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine/telemetry"
)

// Fairness returns, for each resource, how the tenants with the most work share it over all nodes:
// by resource, the tenants with the largest share first. Tenants that the caller does not see are left out, and not named.
func (s *Fleet) Fairness(ctx context.Context, sees func(tenant string) bool) ([]api.TenantShare, error) {
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
	for rest := out; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Resource == rest[0].Resource {
			n++
		}
		for i := range rest[:n] {
			t := &rest[i]
			t.Text = shareText(t, rest[:n], limits.Tenant(t.Tenant).Paused, sees)
		}
		rest = rest[n:]
	}
	return slices.DeleteFunc(out, func(t api.TenantShare) bool { return !sees(t.Tenant) }), nil
}

// shareMet is how far a share may be off that counts as met: shares are measured over seconds, and calls have some size.
const shareMet = 0.05

// shareText says why a tenant gets more or less than its fair share of a resource. all are the shares of the resource.
func shareText(t *api.TenantShare, all []api.TenantShare, paused bool, sees func(tenant string) bool) string {
	points := strconv.FormatFloat(math.Round(math.Abs(t.Actual-t.Entitled)*100), 'f', -1, 64)
	running := false
	for i := range all {
		running = running || all[i].Rate > 0
	}
	switch {
	case paused:
		return "It is paused; others use its share."
	case !running:
		return "Nothing is sent to this service now."
	case t.Ready == 0 && t.InFlight == 0:
		return "Has nothing ready; others use its share."
	case t.Actual > t.Entitled+shareMet:
		return "Borrows " + points + " points" + lenders(t, all, sees) + "."
	case t.Actual >= t.Entitled-shareMet:
		return "Gets its share."
	case t.Ready == 0:
		return "Has no more work ready; others use the rest."
	case t.Rate == 0:
		return "Nothing of it was sent recently: its work is new, or its own limits hold it up."
	}
	return "Gets " + points + " points less: its own limits hold it up, or its work is new."
}

// lenders names the tenants that use less than their shares: " from growth and crm".
func lenders(t *api.TenantShare, all []api.TenantShare, sees func(tenant string) bool) string {
	const named = 2
	var names []string
	others := false
	for i := range all {
		o := &all[i]
		switch {
		case o.Tenant == t.Tenant || o.Actual >= o.Entitled-shareMet:
		case sees(o.Tenant) && len(names) < named:
			names = append(names, o.Tenant)
		default:
			others = true
		}
	}
	if others {
		names = append(names, "others")
	}
	if len(names) == 0 {
		return " that others do not use"
	}
	last := len(names) - 1
	if last == 0 {
		return " from " + names[0]
	}
	return " from " + strings.Join(names[:last], ", ") + " and " + names[last]
}
