package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/core/limit"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/chain"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/draft"
	"github.com/weirhq/weir/internal/service/registry"
	"github.com/weirhq/weir/internal/service/stored"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store"
)

// Bulks holds all bulk actions, drafts and submitted ones.
type Bulks struct {
	engine  *engine.Engine
	drafts  *draft.Drafts
	actions *registry.Actions
	chains  *chain.Chains
	store   store.Store
	vault   *vault.Vault
}

// New returns the bulk actions of an engine and of the drafts for it.
func New(e *engine.Engine, d *draft.Drafts, a *registry.Actions, c *chain.Chains, s store.Store, v *vault.Vault) *Bulks {
	return &Bulks{engine: e, drafts: d, actions: a, chains: c, store: s, vault: v}
}

// Get returns a bulk action, draft or submitted.
func (s *Bulks) Get(ctx context.Context, id string) (api.BulkAction, error) {
	b, d, err := s.Find(ctx, id)
	switch {
	case err != nil:
		return api.BulkAction{}, err
	case d != nil:
		return s.ViewDraft(ctx, id, d)
	}
	return s.View(ctx, b)
}

// Bulk returns a submitted bulk action; it refuses a draft.
func (s *Bulks) Bulk(ctx context.Context, id string) (*engine.BulkAction, error) {
	b, d, err := s.Find(ctx, id)
	if d != nil {
		return nil, &check.Refusal{Code: "not_sealed", Detail: fmt.Sprintf("%s is in state %s", id, d.State), Fix: "seal it first"}
	}
	return b, err
}

// WithExtra is [Bulks.Bulk] with the data that the service keeps with a bulk action.
func (s *Bulks) WithExtra(ctx context.Context, id string) (b *engine.BulkAction, x stored.Extra, err error) {
	if b, err = s.Bulk(ctx, id); err == nil {
		x, err = stored.ParseExtra(b.Info().Extra)
	}
	return b, x, err
}

// Find returns either a bulk action that was submitted or a draft.
func (s *Bulks) Find(ctx context.Context, id string) (*engine.BulkAction, *draft.Draft, error) {
	b, err := s.engine.Get(ctx, weir.BulkID(id))
	if !errors.Is(err, weir.ErrNotFound) {
		return b, nil, err
	}
	d, other := s.drafts.Get(ctx, id)
	if other == nil {
		return nil, &d, nil
	}
	if !errors.Is(other, weir.ErrNotFound) {
		return nil, nil, fmt.Errorf("bulk action %s: %w", id, other)
	}
	if b, again := s.engine.Get(ctx, weir.BulkID(id)); again == nil { // it was submitted between the two reads
		return b, nil, nil
	}
	return nil, nil, err
}

// View returns a submitted bulk action as the API shows it.
func (s *Bulks) View(ctx context.Context, b *engine.BulkAction) (api.BulkAction, error) {
	info := b.Info()
	p := b.Found()
	x, err := stored.ParseExtra(info.Extra)
	if err != nil {
		return api.BulkAction{}, fmt.Errorf("bulk action %s: %w", b.ID(), err)
	}
	out := api.BulkAction{
		ID: string(b.ID()), Name: info.Name, Tenant: info.Tenant, Reason: p.Reason, Steps: stored.APISteps(x.Steps),
		Params: x.Params, Source: x.Source.API(), ItemID: x.ItemID, Columns: x.Columns, OnDuplicate: x.Duplicates, FoldIDs: x.FoldIDs, OnBadLine: x.OnBadLine,
		Labels: x.Labels, Callback: x.Callback.API(),
		Rules: api.Rules{
			Tier: info.Tier.String(), Priority: info.Priority, Concurrency: info.Concurrency, StopOn: stopOn(info.StopOn),
			Canary: x.Canary.API(), Deadline: info.Deadline,
		},
		Counts: api.Counts(p.Counts), Duplicates: b.Duplicates(), BadLines: x.BadLines, RetryOf: string(info.RetryOf), UndoOf: x.UndoOf,
		Schedule: x.Schedule, Template: (*api.MadeFrom)(x.From), StartAt: info.StartAt, Note: x.Note,
		CreatedAt: engine.CreatedAt(b.ID()), FinishedAt: p.Finished.UTC(),
		LastError: LastError(p.LastError), Durability: s.store.Durability(), Losses: lossesOf(b),
	}
	if changes, _ := b.Changes(); changes > 0 && x.Rules != nil {
		rules := x.Rules.API()
		out.CreatedWith = &rules
	}
	for step, r := range info.Rates {
		if out.Rates == nil {
			out.Rates = map[string]api.Rate{}
		}
		out.Rates[step] = api.Rate(r)
	}
	if out.Steps == nil { // it was not submitted over the API
		for _, name := range info.Steps {
			out.Steps = append(out.Steps, api.Step{ID: name, Action: name})
		}
	}
	if p.Finished.IsZero() {
		out.FinishedAt = time.Time{}
	}
	s.noteCuts(&out)
	out.State, out.Phase = StateOf(p.State), PhaseOf(&p, x.Canary != nil)
	if out.State != api.Sealed && out.State != api.Scheduled {
		out.StartedAt = p.Started.UTC()
	}
	if out.State == api.Completed {
		out.Outcome = p.Counts.Outcome()
	}
	out.Warnings = Warnings(&out)
	return out, nil
}

// noteCuts notes the steps at which a rate makes calls smaller than the action's batch.
func (s *Bulks) noteCuts(b *api.BulkAction) {
	for _, st := range b.Steps {
		a, err := s.actions.Find(st.Action)
		rate := b.Rates[cmp.Or(st.ID, st.Action)]
		if err != nil || rate == 0 {
			continue
		}
		step := a.Step(false)
		batch := step.BatchSize
		n := limit.Size{Rate: float64(rate), Full: s.engine.InForce(step.Resource).Pacing == weir.PacingFull}.Items(batch)
		if n == batch {
			continue
		}
		if b.Note != "" {
			b.Note += "; "
		}
		b.Note += fmt.Sprintf("at %v, calls of %s will carry %d items instead of the batch of %d", rate,
			cmp.Or(st.ID, st.Action), n, batch)
	}
}

// lossesOf lists the losses that affect a bulk action.
func lossesOf(b *engine.BulkAction) (out []api.Loss) {
	for _, l := range b.Losses() {
		out = append(out, api.Loss{Partition: l.Partition, Have: l.Have, Acked: l.Acked, FoundAt: l.Found, AcceptedAt: l.Accepted})
	}
	return out
}

// StateOf returns the API's name of a state.
func StateOf(s weir.BulkState) api.State { return api.State(s.String()) }

// PhaseOf returns the API's name of the phase.
func PhaseOf(p *weir.Progress, canary bool) string {
	switch {
	case p.State != weir.BulkRunning && p.State != weir.BulkPaused || !canary:
		return ""
	case p.Canary:
		return "canary"
	}
	return "main"
}

func stopOn(r weir.StopRule) *api.StopOn {
	if r == (weir.StopRule{}) {
		return nil
	}
	return &api.StopOn{FailureRate: r.FailureRate, MinItems: r.MinItems, MaxFailures: r.MaxFailures, Cancel: r.Cancel,
		KeepTrying: r.KeepTrying}
}

// ViewDraft returns a draft as the API shows it.
func (s *Bulks) ViewDraft(ctx context.Context, id string, d *draft.Draft) (api.BulkAction, error) {
	sum, err := s.drafts.Sum(ctx, id)
	if err != nil {
		return api.BulkAction{}, err
	}
	n := &d.Spec
	out := api.BulkAction{
		ID: id, Name: cmp.Or(n.Name, strings.Join(stored.Names(n.Steps), "+")), Tenant: d.Tenant, State: api.State(d.State),
		Reason: d.Reason, Steps: stored.APISteps(n.Steps), Params: n.Params,
		Source: n.Source.API(), ItemID: n.ItemID, Columns: n.Columns, OnDuplicate: n.Duplicates, FoldIDs: n.FoldIDs, OnBadLine: n.OnBadLine, Labels: n.Labels, Callback: n.Callback.API(), Rules: n.Rules.API(),
		Counts: api.Counts{Total: sum.Items, Ready: sum.Items}, Duplicates: sum.Duplicates, BadLines: sum.BadLines,
		Schedule: d.Schedule, Template: (*api.MadeFrom)(d.From), StartAt: d.StartAt, Note: d.Note,
		CreatedAt: engine.CreatedAt(weir.BulkID(id)), Durability: s.store.Durability(),
	}
	s.noteCuts(&out)
	switch {
	case d.State == draft.Sealing:
		out.State = api.Draft
	case d.State == draft.Submitted:
		out.State = api.Sealed
	case d.State == draft.Scheduled && !d.StartAt.After(time.Now()):
		out.State = api.Importing
	case d.State == draft.Cancelled && d.Unsure: // the engine may receive it in a moment, and run some of it
		out.State = api.Cancelling
	case d.State == draft.Cancelled:
		out.Counts.Ready, out.Counts.Cancelled = 0, sum.Items
	}
	out.Warnings = Warnings(&out)
	return out, nil
}

// LastError returns why calls failed last, as the API shows it.
func LastError(e *weir.LastError) *api.LastError {
	if e == nil {
		return nil
	}
	x := api.LastError(*e)
	return &x
}
