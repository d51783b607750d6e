package result

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/bulk"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/stored"
	"github.com/weirhq/weir/report"
	"golang.org/x/sync/errgroup"
)

// The kinds of bulk actions created from another.
const (
	linkRetry = "retry"
	linkUndo  = "undo"
)

// link records that one bulk action was created from another. Recording it again changes nothing.
func (s *Results) link(ctx context.Context, id string, l *linked) error {
	_, err := s.links.Insert(ctx, l.Of+"/"+id, *l)
	if errors.Is(err, records.ErrExists) {
		return nil
	}
	return err
}

// AddLinks adds the retries and undos of a bulk action. It can have some once it has ended or was
// stopped.
func (s *Results) AddLinks(ctx context.Context, b *api.BulkAction) error {
	if !b.State.Final() && b.State != api.Stopped {
		return nil
	}
	for e, err := range s.links.All(ctx, b.ID+"/") {
		if err != nil {
			return err
		}
		switch by := e.Name[len(b.ID)+1:]; e.Value.Kind {
		case linkRetry:
			b.Retries = append(b.Retries, by)
		case linkUndo:
			b.UndoneBy = by
		}
	}
	return s.addUndone(ctx, b)
}

// AddUndos adds the undos of those of a list that have one, and the failed items that are not dealt with.
func (s *Results) AddUndos(ctx context.Context, list []api.BulkAction) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readAtOnce)
	for i := range list {
		g.Go(func() error {
			b := &list[i]
			had := b.Retries
			if err := s.AddLinks(ctx, b); err != nil {
				return err
			}
			err := s.AddOpen(ctx, b)
			b.Retries = had // only of one
			return err
		})
	}
	return g.Wait()
}

// addUndone adds how far the undo of a bulk action has come.
func (s *Results) addUndone(ctx context.Context, b *api.BulkAction) error {
	if b.UndoneBy == "" {
		return nil
	}
	b.Undone = &api.Undone{}
	undo, err := s.engine.Get(ctx, weir.BulkID(b.UndoneBy))
	if err != nil {
		return check.IgnoreRemoved(err)
	}
	p := undo.Found()
	*b.Undone = api.Undone{State: bulk.StateOf(p.State), Items: p.Counts.Total, Done: p.Counts.Done, Failed: p.Counts.Failed}
	return nil
}

// Retry retries failed or cancelled items of a bulk action as new bulk actions linked to it. Items
// that were already retried or discarded are left alone. With the same key it creates nothing new,
// even after a crash; an empty key counts as a new one.
func (s *Results) Retry(ctx context.Context, id string, want api.Again, key string) (api.Linked, error) {
	b, err := s.ended(ctx, id)
	if err != nil {
		return api.Linked{}, err
	}
	if want.Step != "" && !slices.Contains(b.Info().Steps, want.Step) {
		return api.Linked{}, bulk.NoSuchStep(b.Info().Steps)
	}
	var bad weir.InputError
	check.Text(&bad, "name", want.Name)
	if err := bad.OrNil(); err != nil {
		return api.Linked{}, err
	}
	state := report.State(want.State)
	if state == report.StateFailed {
		state = "" // the same as leaving it out
	}
	h := handling{
		Key: key, Kind: linkRetry, Which: selector{State: state, Step: want.Step, Code: want.Code, Message: want.Message,
			Filter: want.Filter},
		Rate: stored.Rate(want.Rate), NewKeys: want.NewKeys, Name: want.Name, At: time.Now().UTC(), Pending: true,
	}
	return s.retry(ctx, id, &h)
}

// ended returns a bulk action whose items can be retried.
func (s *Results) ended(ctx context.Context, id string) (*engine.BulkAction, error) {
	b, err := s.bulks.Bulk(ctx, id)
	if err != nil {
		return nil, err
	}
	p, err := b.Now(ctx)
	if err == nil && !p.State.Final() && p.State != weir.BulkStopped {
		err = &check.Refusal{Code: "wrong_state", Detail: fmt.Sprintf("%s is %v", id, bulk.StateOf(p.State)),
			Fix: "wait until it ends, or cancel it first"}
	}
	if err == nil {
		err = bulk.RefuseRetry(b)
	}
	return b, err
}

// retry records which items to retry, and retries them.
func (s *Results) retry(ctx context.Context, id string, h *handling) (api.Linked, error) {
	if h.Key == "" {
		h.Key = rand.Text()
	}
	begun, err := s.begin(ctx, id, h)
	if err != nil {
		return api.Linked{}, err
	}
	made, err := s.carryOut(ctx, id, begun)
	if err != nil {
		return api.Linked{}, err
	}
	out := api.Linked{BulkActions: []api.BulkAction{}}
	for _, again := range made {
		view, err := s.bulks.Get(ctx, again)
		if err != nil {
			return out, err
		}
		out.Items += view.Counts.Total
		out.BulkActions = append(out.BulkActions, view)
	}
	return out, nil
}

// carryOut creates the bulk actions of a recorded retry. Any node may repeat it: the engine
// creates them once.
func (s *Results) carryOut(ctx context.Context, id, key string) ([]string, error) {
	e, err := s.handled.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	at, h := e.Value.find(key)
	switch {
	case h == nil:
		return nil, &check.Refusal{Code: "in_progress", Detail: "the retry was refused during the request",
			Fix: "send the request again", RetryAfter: time.Second}
	case !h.Pending:
		return h.Made, nil
	}
	made, err := s.submitRetry(ctx, id, e.Value.Entries[:at], h)
	if err != nil {
		if check.Invalid(err) {
			err = errors.Join(err, s.takeBack(context.WithoutCancel(ctx), id, key))
		}
		return nil, err
	}
	return made, s.settleHandling(context.WithoutCancel(ctx), id, key, made)
}

// submitRetry submits the matching items that no earlier entry took.
func (s *Results) submitRetry(ctx context.Context, id string, before []handling, h *handling) ([]string, error) {
	b, x, err := s.bulks.WithExtra(ctx, id)
	if err != nil {
		return nil, err
	}
	meant, err := newChoice(before, h, &x)
	if err != nil {
		return nil, err
	}
	own := stored.Extra{ // nothing that depends on the time: a repeat must submit the same
		Steps: x.Steps, Params: x.Params, Labels: x.Labels, KeepFor: x.KeepFor, UndoOf: x.UndoOf, Layout: x.Layout,
	}
	extra, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	var failed error
	list, err := b.Retry(ctx, engine.RetryOptions{
		State: h.Which.State, Step: h.Which.Step, Rate: weir.Rate(h.Rate), NewKeys: h.NewKeys, Name: h.Name, IdempotencyKey: h.Key,
		Ticket: engine.Ticket{Notify: true, Extra: extra, Terms: own.Terms()},
		Match: func(r *report.Row) bool {
			yes, err := meant.takes(r)
			if err != nil && failed == nil {
				failed = err
			}
			return yes
		},
	})
	if failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	var made []string
	for _, again := range list {
		made = append(made, string(again.ID()))
		if err := s.link(context.WithoutCancel(ctx), string(again.ID()),
			&linked{Of: id, Kind: linkRetry, At: h.At, State: h.Which.State}); err != nil {
			return nil, err
		}
	}
	return made, nil
}
