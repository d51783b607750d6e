package outlook

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/lab/forecast"
)

// work returns the bulk action as input of a forecast before it has begun. It adds resources that
// were not used yet to the load, with their limits.
func (s *Outlook) work(b *api.BulkAction, load *forecast.Load, limits *weir.Limits, delay time.Duration) (forecast.Work, error) {
	tier, err := weir.ParseTier(b.Tier)
	if err != nil {
		tier = weir.TierDefault
	}
	left := b.Counts.Total - b.Counts.Done - b.Counts.Failed - b.Counts.Cancelled
	w := forecast.Work{
		Name: b.Name, Tenant: b.Tenant, Weight: limits.Tenant(b.Tenant).Weight, Tier: tier, Priority: b.Priority, Items: left,
		Delay: max(delay, 0), Concurrency: b.Concurrency, MaxTasks: limits.Tenant(b.Tenant).MaxTasks,
	}
	if !b.Deadline.IsZero() {
		w.Deadline = time.Until(b.Deadline) - w.Delay
	}
	for _, st := range b.Steps {
		a, err := s.actions.Find(st.Action)
		if err != nil {
			return w, s.actions.Unknown("steps", st.Action)
		}
		base := a.Step(false)
		w.Steps = append(w.Steps,
			forecast.Step{Name: cmp.Or(st.ID, st.Action), Action: st.Action, Resource: base.Resource.Name, Batch: base.BatchSize,
				Rate: weir.Rate(b.Rates[cmp.Or(st.ID, st.Action)]), Conditional: st.When != ""})
		i := slices.IndexFunc(load.Resources, func(r forecast.Resource) bool { return r.Name == base.Resource.Name })
		if i < 0 {
			r := limits.Resource(base.Resource)
			i = len(load.Resources)
			load.Resources = append(load.Resources, forecast.Resource{Name: r.Name, Rate: r.Rate, Concurrency: r.Concurrency,
				Pacing: r.Pacing})
		}
		load.Resources[i].Timeout, load.Resources[i].Backoff = base.Timeout, base.Retry
	}
	return w, nil
}

// recall adds how long calls took to the resources of the work that no node has called since it started.
func recall(ctx context.Context, p past, w *forecast.Work, all []forecast.Resource) error {
	for i := range all {
		r := &all[i]
		if r.Service > 0 || !slices.ContainsFunc(w.Steps, func(s forecast.Step) bool { return s.Resource == r.Name }) {
			continue
		}
		took, of, err := p.CallTime(ctx, r.Name)
		if err != nil {
			return err
		}
		r.Service, r.Samples = took, of
	}
	return nil
}
