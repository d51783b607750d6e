package draft

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/engine/ingest"
	"github.com/weirhq/weir/internal/service/chain"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/stored"
)

// Seals closes drafts, submits them, and cancels them.
type Seals struct {
	*kept
	*files
	// finishing holds the drafts that this process is submitting.
	finishing inHand
}

// Seal closes a draft to further items and submits the bulk action. If the expected number of
// items differs from the actual one, nothing is sealed.
func (s *Seals) Seal(ctx context.Context, id string, want api.Seal) (*engine.BulkAction, error) {
	d, err := s.Get(ctx, id)
	if errors.Is(err, weir.ErrNotFound) || d.State == Submitted {
		return s.sealedBefore(ctx, id, want)
	}
	if err != nil {
		return nil, err
	}
	if d.State != Editing && d.State != Sealing {
		return nil, &check.Refusal{Code: "wrong_state", Detail: fmt.Sprintf("%s is %s", id, d.State), Fix: "only a draft can be sealed"}
	}
	if d.Spec.Source != nil {
		return nil, &check.Refusal{Code: "wrong_state", Detail: id + " reads its items from its source",
			Fix: "start it: it reads its source when it starts"}
	}
	if err := s.roomToSeal(ctx, id, d.Tenant); err != nil {
		return nil, err
	}
	err = s.writeSeal(ctx, id, &d, want)
	if errors.Is(err, weir.ErrNotFound) { // it was submitted in the meantime
		return s.sealedBefore(ctx, id, want)
	}
	if err != nil {
		return nil, err
	}
	return s.finish(ctx, id)
}

// roomToSeal refuses a seal while the items would not be accepted: a request that is told to retry
// later must have no effect.
func (s *Seals) roomToSeal(ctx context.Context, id, tenant string) error {
	sum, err := s.Sum(ctx, id)
	if err != nil || sum.sealed != nil {
		return err
	}
	return s.intake.Room(tenant, sum.Items)
}

// sealedBefore answers the seal of a bulk action that was already sealed and submitted.
func (s *Seals) sealedBefore(ctx context.Context, id string, want api.Seal) (*engine.BulkAction, error) {
	b, err := s.engine.Get(ctx, weir.BulkID(id))
	if err != nil {
		return nil, err
	}
	x, err := stored.ParseExtra(b.Info().Extra)
	if err != nil {
		return nil, err
	}
	got := Tally{Items: b.Items(), Duplicates: b.Duplicates(), BadLines: x.BadLines}
	if want.ExpectedItems != nil && *want.ExpectedItems != got.rows() {
		return nil, mismatch(id, *want.ExpectedItems, got)
	}
	return b, nil
}

func mismatch(id string, want int64, got Tally) error {
	text := fmt.Sprintf("%s has %d items, expected %d", id, got.Items, want)
	if got.Items != got.rows() {
		text = fmt.Sprintf("%s has %d rows, expected %d (%d items, %d duplicates, %d bad lines)",
			id, got.rows(), want, got.Items, got.Duplicates, got.BadLines)
	}
	return &check.Refusal{Code: "count_mismatch", Detail: text, Fix: "add the missing items, or seal it with the actual count"}
}

// writeSeal ends the log, unless it has ended already.
func (s *Seals) writeSeal(ctx context.Context, id string, d *Draft, want api.Seal) error {
	_, err := s.drafts.Update(ctx, id, func(d *Draft) error {
		if d.State == Cancelled { // in the meantime
			return check.Ended(id + " was cancelled")
		}
		d.State = Sealing // so that a crash does not leave it half sealed
		return nil
	})
	if err != nil {
		return err
	}
	err = s.write(ctx, id, part{Seal: &seal{Start: want.Start || d.Spec.Start || d.Start, At: time.Now().UTC()}},
		func(l *draftLog) error {
			switch {
			case l.sealed != nil:
				return errSealed
			case want.ExpectedItems != nil && *want.ExpectedItems != l.Tally.rows():
				return mismatch(id, *want.ExpectedItems, l.Tally)
			case l.Tally.Items == 0 && !d.Spec.AllowEmpty:
				return &weir.FieldError{Code: "no_items", Field: "items", Problem: "is empty",
					Fix: "add at least one, or create it with allow_empty"}
			}
			return nil
		})
	if err == nil || errors.Is(err, errSealed) {
		return s.staySealing(ctx, id)
	}
	if err != nil {
		_, _ = s.drafts.Update(ctx, id, func(d *Draft) error { // otherwise the keeper does it
			if d.State == Sealing {
				d.State = Editing
			}
			return nil
		})
	}
	return err
}

var errSealed = errors.New("sealed before")

// staySealing makes the keeper finish the seal of a sealed log, if no other process does: the
// keeper may have reverted the state just before the log was sealed.
func (s *Seals) staySealing(ctx context.Context, id string) error {
	_, err := s.drafts.Update(ctx, id, func(d *Draft) error {
		if d.State == Editing {
			d.State = Sealing
		}
		return nil
	})
	return records.IgnoreGone(err) // gone: another process has finished it
}

// finish submits a draft whose log is sealed, and removes the draft. Several nodes may do it at
// once and after any crash: the engine accepts an id once.
func (s *Seals) finish(ctx context.Context, id string) (*engine.BulkAction, error) {
	defer s.finishing.begin(id)()
	e, err := s.drafts.Get(ctx, id)
	if errors.Is(err, weir.ErrNotFound) {
		return s.engine.Get(ctx, weir.BulkID(id))
	}
	if err != nil {
		return nil, err
	}
	d := e.Value
	switch d.State {
	case Cancelled:
		return nil, check.Ended(id + " was cancelled")
	case Submitted:
		return s.submitted(ctx, id, nil)
	}
	sum, err := s.Sum(ctx, id)
	if err != nil {
		return nil, err
	}
	if sum.sealed == nil {
		return nil, &check.Refusal{Code: "in_progress", Detail: id + " is being sealed or was reopened",
			Fix: "send the request again", RetryAfter: time.Second}
	}
	b, err := s.submitStaged(ctx, id, &d, sum)
	if err != nil {
		if known, other := s.engine.Get(ctx, weir.BulkID(id)); other == nil { // another process was first, and may have removed what this one read
			b, err = known, nil
		}
	}
	if err == nil {
		return s.submitted(context.WithoutCancel(ctx), id, b)
	}
	if check.Invalid(err) {
		return nil, errors.Join(err, s.reopen(context.WithoutCancel(ctx), id, sum, err))
	}
	return nil, err // the keeper retries
}

// submitted removes the remains of a draft that the engine has. It records this first, so that the
// remains of a crash are not taken for a draft. A cancel in the meantime also cancels the bulk
// action.
func (s *Seals) submitted(ctx context.Context, id string, b *engine.BulkAction) (_ *engine.BulkAction, err error) {
	if b == nil {
		if b, err = s.engine.Get(ctx, weir.BulkID(id)); err != nil && !errors.Is(err, weir.ErrExpired) {
			return nil, err
		}
	}
	var before Draft
	_, err = s.drafts.Update(ctx, id, func(d *Draft) error {
		before, d.State = *d, Submitted
		return nil
	})
	if errors.Is(err, weir.ErrNotFound) {
		return b, nil // another process was first
	}
	if err == nil && b != nil && (before.State == Cancelled || before.Unsure) {
		err = b.Cancel(ctx, before.Reason)
	}
	if err != nil && !errors.Is(err, weir.ErrEnded) {
		return nil, err
	}
	return b, s.closeDraft(ctx, id, &before)
}

// reopen withdraws a seal that the engine refused; the draft of a source fails instead.
func (s *Seals) reopen(ctx context.Context, id string, sum Sum, why error) error {
	state, reason := Editing, ""
	d, err := s.Get(ctx, id)
	if err != nil {
		return err
	}
	if d.Spec.Source != nil {
		state, reason = Failed, why.Error()
	} else if err := s.parts.Delete(ctx, partName(id, sum.parts-1)); err != nil && !errors.Is(err, weir.ErrNotFound) {
		return err
	}
	s.logs.forget(id)
	_, err = s.drafts.Update(ctx, id, func(d *Draft) error {
		if d.State != Cancelled {
			d.State, d.Reason = state, reason
		}
		return nil
	})
	return err
}

// submit passes a bulk action to the engine, with its items.
func (s *Seals) submit(ctx context.Context, id string, d *Draft, sum Sum,
	items iter.Seq2[weir.RawItem, error]) (*engine.BulkAction, error) {
	t, def, spec, err := ticketOf(id, d, sum)
	if err != nil {
		return nil, err
	}
	return s.engine.SubmitAs(ctx, t, def, items, spec)
}

// submitStaged passes a draft to the engine, which adopts the items that were staged for it.
func (s *Seals) submitStaged(ctx context.Context, id string, d *Draft, sum Sum) (*engine.BulkAction, error) {
	t, def, spec, err := ticketOf(id, d, sum)
	if err != nil {
		return nil, err
	}
	var stages []ingest.Stage
	for e, err := range s.parts.All(ctx, id+"/") {
		if err != nil {
			return nil, err
		}
		if e.Value.Stage.Items > 0 {
			stages = append(stages, e.Value.Stage)
		}
	}
	return s.engine.SubmitStaged(ctx, t, def, stages, spec)
}

// ticketOf returns what the engine is told of a draft.
func ticketOf(id string, d *Draft, sum Sum) (t engine.Ticket, def weir.Definition, spec weir.Spec, err error) {
	if def, spec, err = specOf(d); err != nil {
		return t, def, spec, err
	}
	switch {
	case !d.StartAt.IsZero() && d.StartAt.After(time.Now()):
		spec.StartAt = d.StartAt
	default:
		spec.Hold = !sum.sealed.Start && d.StartAt.IsZero()
	}
	own := extraOf(d, sum)
	extra, err := json.Marshal(own)
	t = engine.Ticket{
		ID: weir.BulkID(id), Expected: sum.Items, Duplicates: sum.Duplicates, AllowEmpty: d.Spec.AllowEmpty, Notify: true,
		KeepFor: time.Duration(d.Spec.KeepFor), Extra: extra, Terms: own.Terms(), Sole: sum.parts == 0, // its items are in the request
	}
	return t, def, spec, err
}

// Items yields all items of a draft, in the order of its log.
func (s *kept) Items(ctx context.Context, id string) iter.Seq2[weir.RawItem, error] {
	return func(yield func(weir.RawItem, error) bool) {
		for e, err := range s.parts.All(ctx, id+"/") {
			if err != nil {
				yield(weir.RawItem{}, err)
				return
			}
			if e.Value.Stage.ID == "" {
				continue
			}
			for it, err := range s.intake.Staged(ctx, e.Value.Stage) {
				if !yield(it, err) || err != nil {
					return
				}
			}
		}
	}
}

func extraOf(d *Draft, sum Sum) stored.Extra {
	return stored.Extra{
		Steps: d.Spec.Steps, Params: d.Spec.Params, Source: d.Spec.Source, Labels: d.Spec.Labels, Canary: d.Spec.Canary,
		Callback: d.Spec.Callback, BadLines: sum.BadLines, Schedule: d.Schedule, Slot: d.Slot, From: d.From, Note: d.Note,
		ItemID: d.Spec.ItemID, Columns: d.Spec.Columns, Duplicates: d.Spec.Duplicates, FoldIDs: d.Spec.FoldIDs, OnBadLine: d.Spec.OnBadLine, KeepFor: d.Spec.KeepFor,
		Rules: &d.Spec.Rules, Layout: d.Layout,
	}
}

// specOf returns the definition and the spec for the engine.
func specOf(d *Draft) (def weir.Definition, spec weir.Spec, err error) {
	n := &d.Spec
	spec = weir.Spec{
		Name: n.Name, Tenant: d.Tenant, Priority: n.Priority, Concurrency: n.Concurrency, Deadline: n.Deadline,
		Duplicates: duplicateRule(n.Duplicates),
	}
	if def.Text, def.Name, err = chain.Text(n.Steps, n.Params); err != nil {
		return def, spec, err
	}
	if n.Tier != "" {
		if spec.Tier, err = check.Tier(n.Tier); err != nil {
			return def, spec, err
		}
	}
	if r := n.StopOn; r != nil {
		spec.StopOn = weir.StopRule{FailureRate: r.FailureRate, MinItems: r.MinItems, MaxFailures: r.MaxFailures,
			Cancel: r.Cancel, KeepTrying: r.KeepTrying}
	}
	if c := n.Canary; c != nil {
		spec.Canary = &weir.Canary{Percent: c.Percent, Items: c.Items, Auto: c.Approve == "auto", SuccessRate: c.SuccessRate,
			P95: time.Duration(c.P95)}
	}
	for step, rate := range n.Rates {
		if spec.Rates == nil {
			spec.Rates = map[string]weir.Rate{}
		}
		spec.Rates[step] = weir.Rate(rate)
	}
	return def, spec, nil
}
