package result

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/chain"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/stored"
)

// undoing records which bulk action undoes another: of two requests, one record decides.
type undoing struct {
	ID string    `json:"id"`
	At time.Time `json:"at"`
}

// Undo undoes the work of a bulk action and all its retries, the newest step of each item first.
// It creates a new bulk action with the id newID, from [draft.Drafts.NewID]. Items that completed only
// some steps are undone for those steps. Undo is refused while a retry has not ended, and nothing
// that is undone can be retried. It happens once: a repeat, also after a crash, finishes the
// first.
func (s *Results) Undo(ctx context.Context, id, newID string) (api.Linked, error) {
	b, x, err := s.bulks.WithExtra(ctx, id)
	if err != nil {
		return api.Linked{}, err
	}
	if err := s.mayUndo(ctx, b, &x); err != nil {
		return api.Linked{}, err
	}
	e, err := s.undos.Insert(ctx, id, undoing{ID: newID, At: time.Now().UTC()})
	if err != nil && !errors.Is(err, records.ErrExists) {
		return api.Linked{}, err
	}
	if e.Value.ID != newID {
		if _, err := s.engine.Get(ctx, weir.BulkID(e.Value.ID)); !errors.Is(err, weir.ErrNotFound) {
			return api.Linked{}, &check.Refusal{Code: "exists", Detail: fmt.Sprintf("%s is undone by %s", id, e.Value.ID),
				Fix: "retry the items that failed there"}
		}
	}
	err = s.closeFamily(ctx, b, e.Value.ID)
	if err == nil {
		err = s.submitUndo(ctx, b, &x, e.Value)
	}
	if err != nil {
		if check.Refused(err) {
			after := context.WithoutCancel(ctx)
			// gone: another undo was refused, too
			err = errors.Join(err, s.openFamily(after, b), records.IgnoreGone(s.undos.Delete(after, id)))
		}
		return api.Linked{}, err
	}
	if err := s.link(context.WithoutCancel(ctx), e.Value.ID, &linked{Of: id, Kind: linkUndo, At: e.Value.At}); err != nil {
		return api.Linked{}, err
	}
	view, err := s.bulks.Get(ctx, e.Value.ID)
	return api.Linked{Items: view.Counts.Total, BulkActions: []api.BulkAction{view}}, err
}

// mayUndo returns why a bulk action cannot be undone.
func (s *Results) mayUndo(ctx context.Context, b *engine.BulkAction, x *stored.Extra) error {
	switch {
	case x.UndoOf != "":
		return &check.Refusal{Code: "wrong_state", Detail: fmt.Sprintf("%s undoes %s", b.ID(), x.UndoOf),
			Fix: "create a new bulk action to do the undone work again"}
	case len(x.Steps) == 0:
		return &check.Refusal{Code: "no_undo", Detail: fmt.Sprintf("the steps of %s were not defined over the API", b.ID())}
	}
	if err := s.firstOfFamily(ctx, b); err != nil {
		return err
	}
	all, err := family(ctx, b)
	if err != nil {
		return err
	}
	for _, member := range all {
		if err := s.restsFor(ctx, b, member); err != nil {
			return err
		}
	}
	did, err := doneBy(ctx, all, x)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(did, func(n int64) bool { return n > 0 }) {
		return &weir.FieldError{Code: "no_items", Field: "id",
			Problem: fmt.Sprintf("%s completed no step of any item", b.ID()), Fix: "there is nothing to undo"}
	}
	var bad weir.InputError
	for i, n := range did {
		name := x.Steps[i].Action
		if a, err := s.actions.Find(name); n > 0 && (err != nil || !a.Undo) {
			bad.Add("no_undo", fmt.Sprintf("steps[%d].action", i),
				fmt.Sprintf("%q cannot be undone and already ran for %s", name, countItems(n)),
				"give the action an undo handler or an undo_url")
		}
	}
	return bad.OrNil()
}

func countItems(n int64) string {
	if n == 1 {
		return "1 item"
	}
	return fmt.Sprintf("%d items", n)
}

// firstOfFamily refuses the undo of a retry while the bulk action that it retries is kept: an item
// is undone with its whole history.
func (s *Results) firstOfFamily(ctx context.Context, b *engine.BulkAction) error {
	of := b.Info().RetryOf
	if of == "" {
		return nil
	}
	_, err := s.engine.Get(ctx, of)
	switch {
	case errors.Is(err, weir.ErrNotFound), errors.Is(err, weir.ErrExpired):
		return nil
	case err != nil:
		return err
	}
	return &check.Refusal{Code: "wrong_state", Detail: fmt.Sprintf("%s is a retry of %s", b.ID(), of),
		Fix: fmt.Sprintf("undo %s: that undoes the work of both", of)}
}

// doneBy counts the items that completed each step, in a bulk action and its retries. Items that a
// step's condition skipped do not count; all items are read only if there may be such items.
func doneBy(ctx context.Context, all []*engine.BulkAction, x *stored.Extra) ([]int64, error) {
	did, skips := make([]int64, len(x.Steps)), false
	for _, b := range all {
		p, err := b.Now(ctx)
		if err != nil {
			return nil, err
		}
		for i := range min(len(did), len(p.Steps)) {
			did[i] += p.Steps[i].Done
			skips = skips || did[i] > 0 && x.Steps[i].When != "" && x.Steps[i].Otherwise == "skip"
		}
	}
	if !skips {
		return did, nil
	}
	truly := map[string]int64{}
	for u, err := range undone(ctx, all[0], x) {
		if err != nil {
			return nil, err
		}
		for _, step := range u.doc.Done {
			truly[step]++
		}
	}
	for i, st := range x.Steps {
		did[i] = truly[st.Name()]
	}
	return did, nil
}

// submitUndo submits the bulk action that undoes another.
func (s *Results) submitUndo(ctx context.Context, b *engine.BulkAction, x *stored.Extra, u undoing) error {
	info := b.Info()
	p := chain.UndoPlan(x)
	text, err := json.Marshal(&p)
	if err != nil {
		return err
	}
	own := stored.Extra{Params: x.Params, Labels: x.Labels, UndoOf: string(b.ID())}
	spec := weir.Spec{
		Name: chain.Cut("undo of "+info.Name, 128), Tenant: info.Tenant, Tier: info.Tier, Priority: info.Priority,
		Concurrency: info.Concurrency,
		Duplicates:  weir.KeepAll, Rates: map[string]weir.Rate{},
	}
	for _, st := range p.Steps {
		own.Steps = append(own.Steps, stored.Step{ID: st.ID, Action: st.Action})
		if rate := info.Rates[st.Of]; rate > 0 {
			spec.Rates[st.ID] = rate
		}
	}
	extra, err := json.Marshal(&own)
	if err != nil {
		return err
	}
	_, err = s.engine.SubmitAs(ctx, engine.Ticket{ID: weir.BulkID(u.ID), Notify: true, Extra: extra, Terms: own.Terms()},
		weir.Definition{Name: chain.Cut("undo+"+info.Name, 128), Text: text}, undoItems(ctx, b, x), spec)
	return err
}
