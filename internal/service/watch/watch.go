package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/bulk"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/draft"
	"github.com/weirhq/weir/internal/service/outlook"
	"github.com/weirhq/weir/internal/service/registry"
	"github.com/weirhq/weir/internal/service/stored"
	"golang.org/x/sync/errgroup"
)

// readAtOnce is how many bulk actions of a list are read side by side.
const readAtOnce = 8

// Watch follows bulk actions.
type Watch struct {
	engine  *engine.Engine
	bulks   *bulk.Bulks
	actions *registry.Actions
	outlook *outlook.Outlook
}

// New returns what follows the bulk actions of an engine.
func New(e *engine.Engine, b *bulk.Bulks, a *registry.Actions, o *outlook.Outlook) *Watch {
	return &Watch{e, b, a, o}
}

// Progress returns the progress of a bulk action, draft or submitted.
func (s *Watch) Progress(ctx context.Context, id string) (api.Progress, error) {
	l, err := s.lanes(ctx)
	if err != nil {
		return api.Progress{}, err
	}
	return s.progressOf(ctx, id, l)
}

// AddProgress adds the progress of those bulk actions that have not ended.
func (s *Watch) AddProgress(ctx context.Context, list []api.BulkAction) error {
	l, err := s.lanes(ctx)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readAtOnce)
	for i := range list {
		if list[i].State.Final() {
			continue
		}
		g.Go(func() error {
			p, err := s.progressOf(ctx, list[i].ID, l)
			if err == nil {
				list[i].Progress = &p
			}
			return check.IgnoreRemoved(err)
		})
	}
	return g.Wait()
}

func (s *Watch) progressOf(ctx context.Context, id string, l lanes) (api.Progress, error) {
	b, draft, err := s.bulks.Find(ctx, id)
	switch {
	case err != nil:
		return api.Progress{}, err
	case draft != nil:
		return s.draftProgress(ctx, id, draft)
	}
	p := b.Found()
	return s.progress(ctx, b, &p, l)
}

// draftProgress returns the progress of a draft.
func (s *Watch) draftProgress(ctx context.Context, id string, of *draft.Draft) (api.Progress, error) {
	d, err := s.bulks.ViewDraft(ctx, id, of)
	if err != nil {
		return api.Progress{}, err
	}
	p := api.Progress{State: d.State, Phase: d.Phase, Reason: d.Reason, Counts: d.Counts, Steps: []api.StepProgress{},
		NoEnd: noEnd(d.State, &weir.Progress{}, false), WaitingOn: []api.Cause{}, At: time.Now().UTC()}
	for _, st := range d.Steps {
		p.Steps = append(p.Steps, api.StepProgress{Step: cmp.Or(st.ID, st.Action), Action: st.Action})
	}
	switch {
	case d.State == api.Importing && d.Reason != "":
		p.WaitingOn = append(p.WaitingOn, api.Cause{Reason: "source"})
	case !d.State.Final():
		p.WaitingOn = append(p.WaitingOn, api.Cause{Reason: string(d.State)})
	}
	for i := range p.WaitingOn {
		p.WaitingOn[i].Text = textOf(p.WaitingOn[i])
	}
	if d.State == api.Scheduled {
		p.WaitingOn[0].Until = d.StartAt
	}
	p.Cancel = cancelPreview(&p, 0, false)
	return p, nil
}

// progress returns the engine's progress as the API shows it.
func (s *Watch) progress(ctx context.Context, b *engine.BulkAction, p *weir.Progress, l lanes) (api.Progress, error) {
	info := b.Info()
	x, err := stored.ParseExtra(info.Extra)
	if err != nil {
		return api.Progress{}, fmt.Errorf("bulk action %s: %w", b.ID(), err)
	}
	out := api.Progress{
		State: bulk.StateOf(p.State), Phase: bulk.PhaseOf(p, x.Canary != nil), Reason: p.Reason,
		Counts: api.Counts(p.Counts), Rate: p.Rate,
		ETA: api.Duration(p.Remaining.Round(time.Second)), Steps: make([]api.StepProgress, 0, len(p.Steps)), At: time.Now().UTC(),
	}
	if !p.At.IsZero() {
		out.At = p.At.UTC()
	}
	for i, c := range p.Steps {
		st := x.Step(info.Steps, i)
		out.Steps = append(out.Steps, api.StepProgress{
			Step: info.Steps[i], Action: st.Action, Done: c.Done, Failed: c.Failed, LeftOut: c.LeftOut, Attempts: c.Attempts, Calls: c.Calls,
			Retries: c.Repeats(), Refused: c.Refused, Pending: c.Pending, Cancelled: c.Cancelled, Skipped: c.Skipped,
			Unclear: c.Unclear, Called: c.Called,
		})
	}
	left, ok := s.outlook.ETA(ctx, b, p)
	if ok {
		out.ETA = api.Duration(max(left.Likely.Round(time.Second), time.Second))
	}
	if p.Canary && (x.Canary == nil || x.Canary.Approve != "auto") { // how long a person takes is not known
		out.ETA = 0
	}
	if out.ETA > 0 {
		ends(&out, left, s.leastLeft(&x, &info, &out))
	} else {
		out.NoEnd = noEnd(out.State, p, s.engine.TenantPaused(info.Tenant))
	}
	out.LastError, out.Cancel = bulk.LastError(p.LastError), cancelPreview(&out, p.AtRisk, x.UndoOf != "")
	out.WaitingOn = s.causes(b, &info, p, &out, l)
	return out, nil
}

// ends says when a bulk action that takes least at least will end, and between which times if that is uncertain.
func ends(out *api.Progress, left outlook.Left, least time.Duration) {
	out.ETA = max(out.ETA, api.Duration(least.Round(time.Second)))
	now := time.Now().UTC()
	out.LikelyEnd = now.Add(time.Duration(out.ETA)).Truncate(time.Second)
	if left.To > 0 {
		out.LikelyEndFrom = now.Add(max(left.From, min(least, time.Duration(out.ETA)))).Truncate(time.Second)
		out.LikelyEndTo = now.Add(max(left.To, time.Duration(out.ETA))).Truncate(time.Second)
	}
}

// leastLeft returns how long the items that have not started take at the present rate limits,
// whatever rate was measured before. Steps that some items may skip do not count.
func (s *Watch) leastLeft(x *stored.Extra, info *engine.Info, out *api.Progress) (least time.Duration) {
	left := -out.Counts.InFlight
	for i, st := range out.Steps {
		left += st.Pending
		a, err := s.actions.Find(st.Action)
		if err != nil || left <= 0 || x.Step(info.Steps, i).When != "" {
			continue
		}
		for _, rate := range []weir.Rate{s.engine.InForce(a.Base.Resource).Rate, info.Rates[st.Step]} {
			if rate > 0 {
				least = max(least, time.Duration(float64(left)/float64(rate)*float64(time.Second)))
			}
		}
	}
	return least
}

const (
	// followEvery is the minimum time between two values of Follow: four a second.
	followEvery = 250 * time.Millisecond
	// lanesEvery is the interval between queries for what holds up the lanes: nodes update once a
	// second.
	lanesEvery = time.Second
	// restEvery is the interval for a bulk action that does not move by itself, such as a draft or a
	// stopped one.
	restEvery = 500 * time.Millisecond
)

// Follow calls tell with the progress of a bulk action, at most four times a second, until it has
// ended or tell fails. Two values in a row may be equal.
func (s *Watch) Follow(ctx context.Context, id string, tell func(api.Progress) error) error {
	for {
		p, err := s.Progress(ctx, id)
		if err == nil {
			err = tell(p)
		}
		if err != nil || p.State.Final() {
			return err
		}
		if ended, err := s.followLive(ctx, id, tell); ended || err != nil {
			return err
		}
		if err := bulk.Rest(ctx, restEvery); err != nil {
			return err
		}
	}
}

// followLive follows a bulk action in the engine.
func (s *Watch) followLive(ctx context.Context, id string, tell func(api.Progress) error) (ended bool, err error) {
	b, err := s.bulks.Bulk(ctx, id)
	var draft *check.Refusal
	if errors.As(err, &draft) || errors.Is(err, weir.ErrNotFound) { // the next round finds its state
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var l lanes
	var looked, told time.Time
	for p := range b.Progress(ctx) {
		if wait := followEvery - time.Since(told); wait > 0 && !p.State.Final() {
			if err := bulk.Rest(ctx, wait); err != nil {
				return false, err
			}
		}
		if time.Since(looked) > lanesEvery {
			if l, err = s.lanes(ctx); err != nil {
				return false, err
			}
			looked = time.Now()
		}
		out, err := s.progress(ctx, b, &p, l)
		if err == nil {
			err = tell(out)
		}
		if err != nil {
			return false, err
		}
		told, ended = time.Now(), p.State.Final()
	}
	return ended, ctx.Err()
}
