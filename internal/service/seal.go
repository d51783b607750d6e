package service

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
	"github.com/weirhq/weir/internal/service/vault"
)

// Seal closes a draft to further items and submits the bulk action. If the expected number of
// items differs from the actual one, nothing is sealed.
func (s *Service) Seal(ctx context.Context, id string, want api.Seal) (*engine.BulkAction, error) {
	d, err := s.getDraft(ctx, id)
	if errors.Is(err, weir.ErrNotFound) {
		return s.sealedBefore(ctx, id, want)
	}
	if err != nil {
		return nil, err
	}
	if d.State == isSubmitted {
		return s.sealedBefore(ctx, id, want)
	}
	if d.State != isDraft && d.State != isSealing {
		return nil, &Refusal{Code: "wrong_state", Detail: fmt.Sprintf("%s is %s", id, d.State), Fix: "only a draft can be sealed"}
	}
	if d.Spec.Source != nil {
		return nil, &Refusal{Code: "wrong_state", Detail: id + " reads its items from its source", Fix: "start it: it reads its source when it starts"}
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
func (s *Service) roomToSeal(ctx context.Context, id, tenant string) error {
	sum, err := s.readLog(ctx, id)
	if err != nil || sum.sealed != nil {
		return err
	}
	return s.engine.Room(tenant, sum.items)
}

// sealedBefore answers the seal of a bulk action that was already sealed and submitted.
func (s *Service) sealedBefore(ctx context.Context, id string, want api.Seal) (*engine.BulkAction, error) {
	b, err := s.engine.Get(ctx, weir.BulkID(id))
	if err != nil {
		return nil, err
	}
	x, err := extraIn(b.Info().Extra)
	if err != nil {
		return nil, err
	}
	got := tally{items: b.Items(), duplicates: b.Duplicates(), badLines: x.BadLines}
	if want.ExpectedItems != nil && *want.ExpectedItems != got.rows() {
		return nil, mismatch(id, *want.ExpectedItems, got)
	}
	return b, nil
}

func mismatch(id string, want int64, got tally) error {
	text := fmt.Sprintf("%s has %d items, expected %d", id, got.items, want)
	if got.items != got.rows() {
		text = fmt.Sprintf("%s has %d rows, expected %d (%d items, %d duplicates, %d bad lines)",
			id, got.rows(), want, got.items, got.duplicates, got.badLines)
	}
	return &Refusal{Code: "count_mismatch", Detail: text, Fix: "add the missing items, or seal it with the actual count"}
}

// writeSeal ends the log, unless it has ended already.
func (s *Service) writeSeal(ctx context.Context, id string, d *draft, want api.Seal) error {
	_, err := s.drafts.Update(ctx, id, func(d *draft) error {
		if d.State == isCancelled { // in the meantime
			return &Refusal{Code: "already_ended", Detail: id + " was cancelled"}
		}
		d.State = isSealing // so that a crash does not leave it half sealed
		return nil
	})
	if err != nil {
		return err
	}
	err = s.write(ctx, id, part{Seal: &seal{Start: want.Start || d.Spec.Start || d.Start, At: time.Now().UTC()}}, func(l *draftLog) error {
		switch {
		case l.sealed != nil:
			return errSealed
		case want.ExpectedItems != nil && *want.ExpectedItems != l.tally.rows():
			return mismatch(id, *want.ExpectedItems, l.tally)
		case l.tally.items == 0 && !d.Spec.AllowEmpty:
			return &weir.FieldError{Code: "no_items", Field: "items", Problem: "is empty", Fix: "add at least one, or create it with allow_empty"}
		}
		return nil
	})
	if err == nil || errors.Is(err, errSealed) {
		return s.staySealing(ctx, id)
	}
	if err != nil {
		_, _ = s.drafts.Update(ctx, id, func(d *draft) error { // otherwise the keeper does it
			if d.State == isSealing {
				d.State = isDraft
			}
			return nil
		})
	}
	return err
}

var errSealed = errors.New("sealed before")

// staySealing makes the keeper finish the seal of a sealed log, if no other process does: the
// keeper may have reverted the state just before the log was sealed.
func (s *Service) staySealing(ctx context.Context, id string) error {
	_, err := s.drafts.Update(ctx, id, func(d *draft) error {
		if d.State == isDraft {
			d.State = isSealing
		}
		return nil
	})
	return ignoreGone(err) // gone: another process has finished it
}

// finish submits a draft whose log is sealed, and removes the draft. Several nodes may do it at
// once and after any crash: the engine accepts an id once.
func (s *Service) finish(ctx context.Context, id string) (*engine.BulkAction, error) {
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
	case isCancelled:
		return nil, &Refusal{Code: "already_ended", Detail: id + " was cancelled"}
	case isSubmitted:
		return s.submitted(ctx, id, nil)
	}
	sum, err := s.readLog(ctx, id)
	if err != nil {
		return nil, err
	}
	if sum.sealed == nil {
		return nil, &Refusal{Code: "in_progress", Detail: id + " is being sealed or was reopened", Fix: "send the request again", RetryAfter: time.Second}
	}
	b, err := s.submit(ctx, id, &d, sum, s.itemsOf(ctx, id))
	if err == nil {
		return s.submitted(context.WithoutCancel(ctx), id, b)
	}
	if refused(err) {
		return nil, errors.Join(err, s.reopen(context.WithoutCancel(ctx), id, sum, err))
	}
	return nil, err // the keeper retries
}

// submitted removes the remains of a draft that the engine has. It records this first, so that the
// remains of a crash are not taken for a draft. A cancel in the meantime also cancels the bulk
// action.
func (s *Service) submitted(ctx context.Context, id string, b *engine.BulkAction) (_ *engine.BulkAction, err error) {
	if b == nil {
		if b, err = s.engine.Get(ctx, weir.BulkID(id)); err != nil && !errors.Is(err, weir.ErrExpired) {
			return nil, err
		}
	}
	var before draft
	_, err = s.drafts.Update(ctx, id, func(d *draft) error {
		before, d.State = *d, isSubmitted
		return nil
	})
	if errors.Is(err, weir.ErrNotFound) {
		return b, nil // another process was first
	}
	if err == nil && b != nil && (before.State == isCancelled || before.Unsure) {
		err = b.Cancel(ctx, before.Reason)
	}
	if err != nil && !errors.Is(err, weir.ErrEnded) {
		return nil, err
	}
	return b, s.closeDraft(ctx, id, &before)
}

// refused reports whether submitting again would fail alike.
func refused(err error) bool {
	var input *weir.InputError
	var field *weir.FieldError
	var twice *weir.DuplicateError
	return errors.As(err, &input) || errors.As(err, &field) || errors.As(err, &twice)
}

// reopen withdraws a seal that the engine refused; the draft of a source fails instead.
func (s *Service) reopen(ctx context.Context, id string, sum draftSum, why error) error {
	state, reason := isDraft, ""
	d, err := s.getDraft(ctx, id)
	if err != nil {
		return err
	}
	if d.Spec.Source != nil {
		state, reason = isFailed, why.Error()
	} else if err := s.parts.Delete(ctx, partName(id, sum.parts-1)); err != nil && !errors.Is(err, weir.ErrNotFound) {
		return err
	}
	s.logs.forget(id)
	_, err = s.drafts.Update(ctx, id, func(d *draft) error {
		if d.State != isCancelled {
			d.State, d.Reason = state, reason
		}
		return nil
	})
	return err
}

// submit passes a bulk action to the engine, with its items.
func (s *Service) submit(ctx context.Context, id string, d *draft, sum draftSum, items iter.Seq2[weir.RawItem, error]) (*engine.BulkAction, error) {
	def, spec, err := s.spec(d)
	if err != nil {
		return nil, err
	}
	switch {
	case !d.StartAt.IsZero() && d.StartAt.After(time.Now()):
		spec.StartAt = d.StartAt
	default:
		spec.Hold = !sum.sealed.Start && d.StartAt.IsZero()
	}
	extra, err := json.Marshal(extraOf(d, sum))
	if err != nil {
		return nil, err
	}
	t := engine.Ticket{
		ID: weir.BulkID(id), Expected: sum.items, Duplicates: sum.duplicates, AllowEmpty: d.Spec.AllowEmpty, Notify: true,
		KeepFor: time.Duration(d.Spec.KeepFor), Extra: extra, Sole: sum.parts == 0, // its items are in the request
	}
	return s.engine.SubmitAs(ctx, t, def, items, spec)
}

// itemsOf yields all items of a draft, in the order of its log.
func (s *Service) itemsOf(ctx context.Context, id string) iter.Seq2[weir.RawItem, error] {
	return func(yield func(weir.RawItem, error) bool) {
		for e, err := range s.parts.All(ctx, id+"/") {
			if err != nil {
				yield(weir.RawItem{}, err)
				return
			}
			if e.Value.Stage.ID == "" {
				continue
			}
			for it, err := range s.engine.Staged(ctx, e.Value.Stage) {
				if !yield(it, err) || err != nil {
					return
				}
			}
		}
	}
}

// Extra holds the service's own data of a submitted bulk action.
type Extra struct {
	Steps    []api.Step        `json:"steps"`
	Params   json.RawMessage   `json:"params,omitempty"`
	Source   *api.Source       `json:"source,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Canary   *api.Canary       `json:"canary,omitempty"`
	Callback *api.Callback     `json:"callback,omitempty"` // its secret is sealed
	BadLines int64             `json:"bad_lines,omitempty"`
	// How its items were read, to repeat it.
	ItemID     string        `json:"item_id,omitempty"`
	Duplicates string        `json:"duplicates,omitempty"`
	OnBadLine  string        `json:"on_bad_line,omitempty"`
	KeepFor    api.Duration  `json:"keep_for,omitempty"`
	Schedule   string        `json:"schedule,omitempty"`
	Slot       time.Time     `json:"slot,omitzero"`
	From       *api.MadeFrom `json:"from,omitempty"` // the template it was created from
	UndoOf     string        `json:"undo_of,omitempty"`
	Note       string        `json:"note,omitempty"`
	Created    time.Time     `json:"created"`
}

func extraOf(d *draft, sum draftSum) Extra {
	return Extra{
		Steps: d.Spec.Steps, Params: d.Spec.Params, Source: d.Spec.Source, Labels: d.Spec.Labels, Canary: d.Spec.Canary,
		Callback: d.Spec.Callback, BadLines: sum.badLines, Schedule: d.Schedule, Slot: d.Slot, From: d.From, Note: d.Note, Created: d.Created,
		ItemID: d.Spec.ItemID, Duplicates: d.Spec.Duplicates, OnBadLine: d.Spec.OnBadLine, KeepFor: d.Spec.KeepFor,
	}
}

// spec returns the definition and the spec for the engine.
func (s *Service) spec(d *draft) (def weir.Definition, spec weir.Spec, err error) {
	n := &d.Spec
	spec = weir.Spec{
		Name: n.Name, Tenant: d.Tenant, Priority: n.Priority, Concurrency: n.Concurrency, Deadline: n.Deadline,
		Duplicates: duplicateRule(n.Duplicates),
	}
	if def.Text, def.Name, err = planText(n.Steps, n.Params); err != nil {
		return def, spec, err
	}
	if n.Tier != "" {
		if spec.Tier, err = weir.ParseTier(n.Tier); err != nil {
			return def, spec, &weir.FieldError{Code: "out_of_range", Field: "tier", Problem: err.Error(), Fix: "leave it out for default"}
		}
	}
	if r := n.StopOn; r != nil {
		spec.StopOn = weir.StopRule{FailureRate: r.FailureRate, MinItems: r.MinItems, MaxFailures: r.MaxFailures, Cancel: r.Cancel, KeepTrying: r.KeepTrying}
	}
	if c := n.Canary; c != nil {
		spec.Canary = &weir.Canary{Percent: c.Percent, Items: c.Items, Auto: c.Approve == "auto", SuccessRate: c.SuccessRate, P95: time.Duration(c.P95)}
	}
	for step, rate := range n.Rates {
		if spec.Rates == nil {
			spec.Rates = map[string]weir.Rate{}
		}
		spec.Rates[step] = weir.Rate(rate)
	}
	return def, spec, nil
}

// sealCallback seals the secret of a one-off callback.
func (s *Service) sealCallback(id string, c *api.Callback) (*api.Callback, error) {
	if c == nil || c.Secret == "" || vault.IsSealed(c.Secret) {
		return c, nil
	}
	sealed, err := s.opts.Vault.Seal("callback/"+id, []byte(c.Secret))
	if err != nil {
		return nil, err
	}
	out := *c
	out.Secret = sealed
	return &out, nil
}
