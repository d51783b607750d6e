package outlook

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/lab/forecast"
	"github.com/weirhq/weir/internal/service/stored"
)

// mostOthers bounds the running bulk actions that a forecast includes, and the scheduled ones, the
// newest first.
const mostOthers = 200

// loaded is the state of the system at a time, with the stored limits.
type loaded struct {
	at     time.Time
	load   forecast.Load // without others
	limits weir.Limits
	ids    []string // of the others
	others []forecast.Work
}

// beside returns the load as one of the bulk actions meets it.
func (l *loaded) beside(id string) forecast.Load {
	out := l.load
	out.Resources = slices.Clone(out.Resources)
	for i := range l.others {
		if l.ids[i] != id {
			out.Others = append(out.Others, l.others[i])
		}
	}
	return out
}

// load reads the present state of the system.
func (s *Outlook) load(ctx context.Context) (out loaded, err error) {
	out.at = time.Now()
	nodes, err := s.engine.Operator().Nodes(ctx)
	if err != nil {
		return out, err
	}
	if out.limits, err = s.engine.Operator().Limits(ctx); err != nil {
		return out, err
	}
	out.load = forecast.Load{Nodes: len(nodes), Resources: s.lookedAtNodes(nodes)}
	for i := range nodes {
		out.load.Slots = max(out.load.Slots, nodes[i].Slots)
	}
	used := s.actions.Resources()
	for i := range out.load.Resources {
		r := &out.load.Resources[i]
		with, known := used[r.Name]
		if !known {
			with = weir.Resource{Name: r.Name, Rate: r.Rate, Concurrency: r.Concurrency, Pacing: r.Pacing}
		}
		with = out.limits.Resource(with)
		r.Rate, r.Concurrency, r.Pacing = with.Rate, with.Concurrency, with.Pacing
	}
	return out, s.others(ctx, &out)
}

// lookedAtNodes returns what all nodes have measured of the resources.
func (s *Outlook) lookedAtNodes(nodes []weir.Node) []forecast.Resource {
	s.seenLock.Lock()
	defer s.seenLock.Unlock()
	return s.seen.Add(nodes)
}

// others adds the running and the scheduled bulk actions.
func (s *Outlook) others(ctx context.Context, to *loaded) error {
	ids, err := s.engine.Unfinished(ctx)
	if err != nil {
		return err
	}
	room := map[weir.BulkState]int{weir.BulkRunning: mostOthers, weir.BulkScheduled: mostOthers}
	for _, id := range ids {
		if room[weir.BulkRunning] == 0 {
			break
		}
		b, err := s.engine.Get(ctx, id)
		if errors.Is(err, weir.ErrNotFound) || errors.Is(err, weir.ErrExpired) {
			continue
		}
		if err != nil {
			return err
		}
		if to.limits.Tenant(b.Info().Tenant).Paused {
			continue
		}
		p := b.Found()
		if room[p.State] == 0 {
			continue
		}
		o, err := s.other(b, &p, to)
		if err != nil {
			return err
		}
		if len(o.Steps) > 0 {
			room[p.State]--
			to.ids, to.others = append(to.ids, string(id)), append(to.others, o)
		}
	}
	return nil
}

// other returns a bulk action as load for others.
func (s *Outlook) other(b *engine.BulkAction, p *weir.Progress, to *loaded) (forecast.Work, error) {
	info := b.Info()
	x, err := stored.ParseExtra(info.Extra)
	if err != nil {
		return forecast.Work{}, err
	}
	o := forecast.Work{
		Name: info.Name, Tenant: info.Tenant, Tier: info.Tier, Priority: info.Priority, Items: p.Counts.Total - p.Counts.Ended(),
		Weight: to.limits.Tenant(info.Tenant).Weight, Concurrency: info.Concurrency, MaxTasks: to.limits.Tenant(info.Tenant).MaxTasks,
	}
	if p.State == weir.BulkScheduled {
		o.Delay = max(info.StartAt.Sub(to.at), 0)
	}
	if !info.Deadline.IsZero() {
		o.Deadline = max(info.Deadline.Sub(to.at)-o.Delay, time.Nanosecond)
	}
	for i, name := range info.Steps {
		st := x.Step(info.Steps, i)
		a, err := s.actions.Find(st.Action)
		if err != nil || i >= len(p.Steps) {
			continue
		}
		step := forecast.Step{Name: name, Resource: a.Base.Resource.Name, Batch: a.Base.BatchSize, Rate: info.Rates[name]}
		if st.When != "" {
			step.Skips, step.LeftOut = forecast.Uncalled(&p.Steps[i], a.Base.Resource.Rate, a.Base.BatchSize)
		}
		o.Steps = append(o.Steps, step)
		o.Standing = append(o.Standing, forecast.Standing(p, i))
	}
	return o, nil
}
