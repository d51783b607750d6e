package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/draft"
	"github.com/weirhq/weir/internal/service/stored"
)

// Create creates a draft, or submits the bulk action at once if the items are in the request. If
// it fails, nothing is left, unless the error comes from the store.
func (s *Bulks) Create(ctx context.Context, n api.NewBulkAction, made draft.Made) (api.BulkAction, error) {
	return s.create(ctx, stored.Of(&n), made)
}

func (s *Bulks) create(ctx context.Context, n stored.Spec, made draft.Made) (api.BulkAction, error) {
	id, b, err := s.drafts.Create(ctx, n, made)
	switch {
	case err != nil:
		return api.BulkAction{}, err
	case b != nil:
		return s.View(ctx, b)
	}
	return s.Get(ctx, id)
}

// Clone creates a draft with what another bulk action was created with, without its items.
func (s *Bulks) Clone(ctx context.Context, id, newID string) (api.BulkAction, error) {
	n, err := s.specOf(ctx, id)
	if err != nil {
		return api.BulkAction{}, err
	}
	n.Items, n.Start, n.StartAt, n.Zone = nil, false, "", ""
	if n.Source != nil && n.Source.Upload != "" { // the upload holds the items, and may be removed
		n.Source = nil
	}
	if !n.Deadline.IsZero() && n.Deadline.Before(time.Now()) {
		n.Deadline = time.Time{}
	}
	b, err := s.Get(ctx, id)
	if err != nil {
		return api.BulkAction{}, err
	}
	return s.create(ctx, n, draft.Made{ID: newID, From: (*stored.MadeFrom)(b.Template)})
}

// specOf returns the request of a bulk action, without later changes of its rules: they were for that run.
func (s *Bulks) specOf(ctx context.Context, id string) (stored.Spec, error) {
	d, err := s.drafts.Get(ctx, id)
	if err == nil {
		n := d.Spec
		n.Tenant = d.Tenant
		n.Callback, err = n.Callback.Open(s.vault, id)
		return n, err
	}
	if !errors.Is(err, weir.ErrNotFound) {
		return stored.Spec{}, err
	}
	b, x, err := s.WithExtra(ctx, id)
	if err != nil {
		return stored.Spec{}, err
	}
	if x.UndoOf != "" {
		return stored.Spec{}, &check.Refusal{Code: "wrong_state", Detail: fmt.Sprintf("%s undoes %s", id, x.UndoOf),
			Fix: "clone that one"}
	}
	view, err := s.View(ctx, b)
	if err != nil {
		return stored.Spec{}, err
	}
	rules := view.Rules
	if view.CreatedWith != nil {
		rules = *view.CreatedWith
	}
	n := stored.Of(&api.NewBulkAction{
		Name: view.Name, Tenant: view.Tenant, Steps: view.Steps, Params: view.Params, Source: view.Source,
		Labels: view.Labels, Rules: rules,
	})
	n.ItemID, n.Columns, n.Duplicates, n.FoldIDs, n.OnBadLine, n.KeepFor = x.ItemID, x.Columns, x.Duplicates, x.FoldIDs, x.OnBadLine, x.KeepFor
	n.Tier = cmp.Or(n.Tier, weir.TierDefault.String())
	n.Callback, err = x.Callback.Open(s.vault, id)
	return n, err
}
