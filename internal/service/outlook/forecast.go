package outlook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/lab/forecast"
	"github.com/weirhq/weir/internal/service/bulk"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/schedule"
	"github.com/weirhq/weir/internal/service/stored"
)

// Forecast predicts how a bulk action would run if it started, by running the real scheduler
// against the present load and the scheduled work.
func (s *Outlook) Forecast(ctx context.Context, id string, req api.ForecastRequest) (api.Forecast, error) {
	b, err := s.bulks.Get(ctx, id)
	if err != nil {
		return api.Forecast{}, err
	}
	if b.State.Final() && !b.FinishedAt.IsZero() {
		return over(&b), nil
	}
	if b.Source != nil && b.Counts.Total == 0 && b.StartedAt.IsZero() {
		b.Counts.Total, b.Counts.Ready = req.Items, req.Items
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
	f, err := s.play(ctx, &b, &api.Simulation{Rates: req.Rates}, start)
	if err != nil {
		return api.Forecast{}, err
	}
	if b.StartedAt.IsZero() && len(req.Rates) == 0 {
		if err := s.tell(ctx, &b, &f, req.StartAt != ""); err != nil {
			return api.Forecast{}, err
		}
	}
	return s.viewForecast(&b, &f, start), nil
}

// tell keeps a forecast for the report. That of another start does not replace that of the planned one.
func (s *Outlook) tell(ctx context.Context, b *api.BulkAction, f *forecast.Forecast, otherStart bool) error {
	now := told{Items: b.Counts.Total}
	now.Takes.P50, now.Takes.P90 = stored.Duration(f.P50), stored.Duration(f.P90)
	_, err := s.told.Put(ctx, b.ID, func(t *told, found bool) error {
		if !otherStart || !found || t.Items != now.Items {
			*t = now
		}
		return nil
	})
	return err
}

// ForecastNew predicts how a bulk action of so many items would run that does not exist yet, with so many workers at most.
func (s *Outlook) ForecastNew(ctx context.Context, n api.NewBulkAction, items int64, workers int) (api.Forecast, error) {
	b := api.BulkAction{
		Name: n.Name, Tenant: cmp.Or(n.Tenant, "default"), State: api.Sealed, Steps: n.Steps, Params: n.Params, Rules: n.Rules,
		Counts: api.Counts{Total: items, Ready: items},
	}
	start := time.Now().UTC()
	f, err := s.play(ctx, &b, &api.Simulation{Workers: workers}, start)
	if err != nil {
		return api.Forecast{}, err
	}
	return s.viewForecast(&b, &f, start), nil
}

// over returns the forecast of a bulk action that has ended.
func over(b *api.BulkAction) api.Forecast {
	text := fmt.Sprintf("It has ended: %s at %s", b.State, b.FinishedAt.UTC().Format(time.RFC3339))
	if !b.StartedAt.IsZero() {
		text += ", after " + api.Duration(b.FinishedAt.Sub(b.StartedAt).Round(time.Millisecond)).String()
	}
	return api.Forecast{
		Duplicates: b.Duplicates, Invalid: b.BadLines, EndedAt: b.FinishedAt, Steps: []api.ForecastStep{},
		Clashes: []api.Clash{}, Assumptions: []string{text + "."},
	}
}

// play runs the scheduler on a bulk action that starts at a time, or now if that has passed, with
// the present load and the scheduled work, and the changes that what asks for.
func (s *Outlook) play(ctx context.Context, b *api.BulkAction, what *api.Simulation, start time.Time) (forecast.Forecast, error) {
	now, err := s.load(ctx)
	if err != nil {
		return forecast.Forecast{}, err
	}
	load := now.beside(b.ID)
	w, err := s.work(b, &load, &now.limits, start.Sub(now.at))
	if err != nil {
		return forecast.Forecast{}, err
	}
	if err := recall(ctx, s.past, &w, load.Resources); err != nil {
		return forecast.Forecast{}, err
	}
	if err := s.conditions(ctx, b, &w); err != nil {
		return forecast.Forecast{}, err
	}
	if err := s.begun(ctx, b, &w, &load); err != nil {
		return forecast.Forecast{}, err
	}
	if err := change(&w, &load, what); err != nil {
		return forecast.Forecast{}, err
	}
	return forecast.Of(w, load)
}

// begun adds the progress of a submitted bulk action, unless it is simulated from the start.
func (s *Outlook) begun(ctx context.Context, b *api.BulkAction, w *forecast.Work, load *forecast.Load) error {
	e, err := s.engine.Get(ctx, weir.BulkID(b.ID))
	if err != nil {
		return check.IgnoreRemoved(err)
	}
	p, err := e.Now(ctx)
	if err == nil && p.Counts.Total-p.Counts.Ended() == w.Items {
		forecast.Underway(w, load, &p, time.Now())
	}
	return check.IgnoreRemoved(err)
}

func (s *Outlook) viewForecast(b *api.BulkAction, f *forecast.Forecast, start time.Time) api.Forecast {
	out := api.Forecast{
		Items: f.Items, Duplicates: b.Duplicates, Invalid: b.BadLines, Assumptions: f.Assumptions, Clashes: []api.Clash{},
		Takes: api.Quantiles{P50: api.Duration(f.P50), P90: api.Duration(f.P90)},
		NoEnd: f.NoEnd, Warnings: bulk.Warnings(b),
	}
	if !f.NoEnd {
		out.Finish = api.Finish{P50: start.Add(f.P50).UTC(), P90: start.Add(f.P90).UTC()}
	}
	if f.Bottleneck.Kind != "" {
		out.Bottleneck = &api.Bottleneck{Kind: string(f.Bottleneck.Kind), Resource: f.Bottleneck.Resource, Value: f.Bottleneck.Value,
			Of: string(f.Bottleneck.Of)}
	}
	for _, st := range f.Steps {
		out.Steps = append(out.Steps, api.ForecastStep{Step: st.Name, Action: st.Action, Items: st.Items, Calls: st.Calls,
			Rate: st.Rate, Takes: api.Duration(st.Duration)})
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

// qualify adds what the times do not include because it depends on people. While nothing may
// start, the end is unknown.
func (s *Outlook) qualify(b *api.BulkAction, f *api.Forecast) {
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

// Foretell returns how long a bulk action that has just started will take; 0: unknown.
func (s *Outlook) Foretell(ctx context.Context, id string) (time.Duration, error) {
	b, err := s.bulks.Get(ctx, id)
	if err != nil {
		return 0, check.IgnoreRemoved(err)
	}
	b.Counts = api.Counts{Total: b.Counts.Total} // as it was when it started
	out, err := s.play(ctx, &b, &api.Simulation{}, time.Time{})
	if err == nil {
		return out.P50, nil
	}
	if input := (*weir.InputError)(nil); errors.As(err, &input) {
		return 0, nil
	}
	if field := (*weir.FieldError)(nil); errors.As(err, &field) {
		return 0, nil
	}
	return 0, err
}
