package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/forecast"
	"github.com/weirhq/weir/internal/records"
	"github.com/weirhq/weir/internal/schedule"
)

// mostOthers is how many bulk actions that have not ended a forecast reckons with, the newest first.
const mostOthers = 200

// Forecast tells how a bulk action would go if it started, by the real scheduler
// run against the present load.
func (s *Service) Forecast(ctx context.Context, id string, req api.ForecastRequest) (api.Forecast, error) {
	b, err := s.Get(ctx, id)
	if err != nil {
		return api.Forecast{}, err
	}
	start := time.Now().UTC()
	if b.StartedAt.IsZero() && b.StartAt.After(start) {
		start = b.StartAt
	}
	if req.StartAt != "" {
		if start, _, err = schedule.ParseStart("start_at", req.StartAt, req.Zone, time.Now()); err != nil {
			return api.Forecast{}, err
		}
	}
	f, err := s.play(ctx, &b, &api.Simulation{Rates: req.Rates}, time.Until(start))
	if err != nil {
		return api.Forecast{}, err
	}
	if b.StartedAt.IsZero() && b.Canary == nil && len(req.Rates) == 0 { // for how long people look at a canary nobody can tell
		told := toldBefore{b.Counts.Total, api.Quantiles{P50: api.Duration(f.P50), P90: api.Duration(f.P90)}}
		if _, err := s.toldBefore().Put(ctx, id, func(t *toldBefore, _ bool) error { *t = told; return nil }); err != nil {
			return api.Forecast{}, err
		}
	}
	return s.viewForecast(&b, &f, start), nil
}

// play runs the scheduler on a bulk action that starts after a delay, with the present load but for what is different.
func (s *Service) play(ctx context.Context, b *api.BulkAction, what *api.Simulation, delay time.Duration) (forecast.Forecast, error) {
	load, limits, err := s.load(ctx, b.ID)
	if err != nil {
		return forecast.Forecast{}, err
	}
	w, err := s.work(b, &load, &limits, delay)
	if err != nil {
		return forecast.Forecast{}, err
	}
	w.Weight = limits.Tenant(b.Tenant).Weight
	if err := change(&w, &load, what); err != nil {
		return forecast.Forecast{}, err
	}
	return forecast.Of(w, load)
}

// toldBefore is the last forecast that somebody asked for before the start, for the report.
type toldBefore struct {
	Items int64         `json:"items"`
	Takes api.Quantiles `json:"takes"`
}

func (s *Service) toldBefore() *records.Table[toldBefore] {
	return records.New[toldBefore](s.opts.Store, "forecast")
}

// work is the bulk action as a forecast sees it. Resources that nobody has used yet are added to the load, with their limits.
func (s *Service) work(b *api.BulkAction, load *forecast.Load, limits *weir.Limits, delay time.Duration) (forecast.Work, error) {
	tier, err := weir.ParseTier(b.Tier)
	if err != nil {
		tier = weir.TierDefault
	}
	left := b.Counts.Total - b.Counts.Done - b.Counts.Failed - b.Counts.Cancelled
	w := forecast.Work{Name: b.Name, Tenant: b.Tenant, Tier: tier, Priority: b.Priority, Items: left, Delay: max(delay, 0)}
	if !b.Deadline.IsZero() {
		w.Deadline = time.Until(b.Deadline) - w.Delay
	}
	for _, st := range b.Steps {
		a, err := s.actions.find(st.Action)
		if err != nil {
			return w, s.unknownAction("steps", st.Action)
		}
		base := a.step(false)
		w.Steps = append(w.Steps, forecast.Step{Name: stepID(st), Action: st.Action, Resource: base.Resource.Name, Batch: base.BatchSize, Rate: weir.Rate(b.Rates[stepID(st)]), Conditional: st.When != ""})
		if !slices.ContainsFunc(load.Resources, func(r forecast.Resource) bool { return r.Name == base.Resource.Name }) {
			r := limits.Resource(base.Resource)
			load.Resources = append(load.Resources, forecast.Resource{
				Name: r.Name, Rate: r.Rate, Concurrency: r.Concurrency, Timeout: base.Timeout, Attempts: base.Retry.MaxAttempts,
			})
		}
	}
	return w, nil
}

// load is the system as it is now, but for one bulk action, and the limits that were set.
func (s *Service) load(ctx context.Context, except string) (load forecast.Load, limits weir.Limits, err error) {
	nodes, err := s.engine.Nodes(ctx)
	if err != nil {
		return load, limits, err
	}
	if limits, err = s.engine.Limits(ctx); err != nil {
		return load, limits, err
	}
	load = forecast.Load{Nodes: len(nodes)}
	for _, n := range nodes {
		load.Slots = max(load.Slots, n.Slots)
		for i := range n.Resources {
			load.Resources = addResource(load.Resources, &n.Resources[i])
		}
	}
	for _, n := range nodes {
		for i := range n.Lanes {
			addLane(load.Resources, &n.Lanes[i])
		}
	}
	used := s.usedResources()
	for i := range load.Resources {
		r := &load.Resources[i]
		with, known := used[r.Name]
		if !known {
			with = weir.Resource{Name: r.Name, Rate: r.Rate, Concurrency: r.Concurrency}
		}
		with = limits.Resource(with)
		r.Rate, r.Concurrency = with.Rate, with.Concurrency
	}
	load.Others, err = s.others(ctx, except, limits)
	return load, limits, err
}

func addResource(all []forecast.Resource, u *weir.ResourceUse) []forecast.Resource {
	if slices.ContainsFunc(all, func(r forecast.Resource) bool { return r.Name == u.Name }) {
		return all
	}
	return append(all, forecast.Resource{Name: u.Name, Rate: weir.Rate(u.Rate), Concurrency: u.Concurrency})
}

// addLane adds what a lane has seen of its resource to what is known of it.
func addLane(all []forecast.Resource, l *weir.Lane) {
	i := slices.IndexFunc(all, func(r forecast.Resource) bool { return r.Name == l.ID.Resource })
	if i < 0 || l.Ended == 0 {
		return
	}
	r := &all[i]
	total := r.Samples + l.Ended
	mean := float64(l.Took) / float64(l.Ended)
	r.Service = time.Duration((float64(r.Service)*float64(r.Samples) + mean*float64(l.Ended)) / float64(total))
	r.Failures = (r.Failures*float64(r.Samples) + float64(l.Failed)) / float64(total)
	r.Samples = total
}

// others are the bulk actions that have not ended.
func (s *Service) others(ctx context.Context, except string, limits weir.Limits) (out []forecast.Other, err error) {
	ids, err := s.engine.IDs(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if len(out) == mostOthers {
			break
		}
		b, err := s.engine.Get(ctx, id)
		if errors.Is(err, weir.ErrNotFound) || errors.Is(err, weir.ErrExpired) {
			continue
		}
		if err != nil {
			return nil, err
		}
		p, err := b.Now(ctx)
		if err != nil {
			return nil, err
		}
		if string(id) == except || p.State != weir.BulkRunning || limits.Tenant(b.Info().Tenant).Paused {
			continue
		}
		v, err := s.view(ctx, b)
		if err != nil {
			return nil, err
		}
		info := b.Info()
		o := forecast.Other{
			Name: info.Name, Tenant: info.Tenant, Tier: info.Tier, Priority: info.Priority, Items: p.Counts.Total - p.Counts.Ended(),
			Weight: limits.Tenant(info.Tenant).Weight,
		}
		for _, st := range v.Steps {
			if a, err := s.actions.find(st.Action); err == nil {
				o.Steps, o.Batch = append(o.Steps, a.base.Resource.Name), max(o.Batch, a.base.BatchSize)
				o.Rates = append(o.Rates, info.Rates[stepID(st)])
			}
		}
		if len(o.Steps) > 0 {
			out = append(out, o)
		}
	}
	return out, nil
}

func (s *Service) viewForecast(b *api.BulkAction, f *forecast.Forecast, start time.Time) api.Forecast {
	out := api.Forecast{
		Items: f.Items, Duplicates: b.Duplicates, Invalid: b.BadLines, Assumptions: f.Assumptions, Clashes: []api.Clash{},
		Takes: api.Quantiles{P50: api.Duration(f.P50), P90: api.Duration(f.P90)},
		NoEnd: f.NoEnd,
	}
	if !f.NoEnd {
		out.Finish = api.Finish{P50: start.Add(f.P50).UTC(), P90: start.Add(f.P90).UTC()}
	}
	if f.Bottleneck.Kind != "" {
		out.Bottleneck = &api.Bottleneck{Kind: string(f.Bottleneck.Kind), Resource: f.Bottleneck.Resource, Value: f.Bottleneck.Value}
	}
	for _, st := range f.Steps {
		out.Steps = append(out.Steps, api.ForecastStep{Step: st.Name, Action: st.Action, Items: st.Items, Calls: st.Calls, Rate: st.Rate, Takes: api.Duration(st.Duration)})
	}
	for _, c := range f.Clashes {
		out.Clashes = append(out.Clashes, api.Clash{Resource: c.Resource, Tenants: c.Tenants, Backlog: c.Backlog, Share: c.Share})
	}
	if f.Deadline != forecast.NoDeadline {
		holds := f.Deadline == forecast.Holds
		out.Deadline = &holds
	}
	if out.Assumptions == nil {
		out.Assumptions = []string{}
	}
	s.qualify(b, &out)
	return out
}

// qualify says what the times do not include because it is up to people. While
// nothing may start, there is no time of the end.
func (s *Service) qualify(b *api.BulkAction, f *api.Forecast) {
	held := ""
	switch {
	case b.State.Final():
		return
	case b.State == api.Paused || b.State == api.Stopped:
		held = fmt.Sprintf("It is %s", b.State)
	case s.engine.TenantPaused(b.Tenant):
		held = fmt.Sprintf("The tenant %.64q is paused", b.Tenant)
	}
	if held != "" {
		f.Finish, f.Deadline = api.Finish{}, nil
		f.Assumptions = append(f.Assumptions, held+": nothing starts before it is resumed, and the times count from then on.")
	}
	approved := b.Phase == "main" || b.State == api.Stopped
	if b.Canary != nil && b.Canary.Approve != "auto" && !approved {
		f.Assumptions = append(f.Assumptions, "The canary waits for approval: the time until then is not included.")
	}
}
