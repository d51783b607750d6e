package draft

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/stored"
)

// givenTo returns the parameters that a request gives its template.
func givenTo(n *stored.Spec) json.RawMessage {
	if n.Template == "" {
		return nil
	}
	return n.Params
}

// chosenIn returns what the request of a template says about reading its data.
func chosenIn(n *stored.Spec) *stored.Chosen {
	if n.Template == "" || len(n.Columns) == 0 && n.Duplicates == "" && !n.FoldIDs && n.OnBadLine == "" {
		return nil
	}
	return &stored.Chosen{Columns: n.Columns, Duplicates: n.Duplicates, FoldIDs: n.FoldIDs, OnBadLine: n.OnBadLine}
}

// Description returns the request that describes a draft, and its version. A draft made from a template is described
// as a request of that template may be.
func (s *Creates) Description(ctx context.Context, id string) (api.NewBulkAction, string, error) {
	e, err := s.drafts.Get(ctx, id)
	if err != nil {
		return api.NewBulkAction{}, "", s.submittedAlready(ctx, id, err)
	}
	d := &e.Value
	n := d.Spec
	if d.From != nil {
		n = stored.Spec{Name: n.Name, Template: d.From.Name, Params: d.Given, ItemID: n.ItemID, Source: n.Source, AllowEmpty: n.AllowEmpty,
			Rules: stored.Rules{Tier: n.Tier, Priority: n.Priority, Deadline: n.Deadline}, Labels: n.Labels}
		if c := d.Chosen; c != nil {
			n.Columns, n.Duplicates, n.FoldIDs, n.OnBadLine = c.Columns, c.Duplicates, c.FoldIDs, c.OnBadLine
		}
	}
	n.Tenant, n.Start, n.StartAt, n.Zone = d.Tenant, false, "", ""
	return n.API(), e.Version, nil
}

// Describe replaces the description of a draft that has no items yet, if match allows it. By is the id of the API key
// that does it.
func (s *Creates) Describe(ctx context.Context, id string, n stored.Spec, by string, match records.Match) error {
	d, err := s.Get(ctx, id)
	if err != nil {
		return s.submittedAlready(ctx, id, err)
	}
	if err := s.mayDescribe(ctx, id, &d, &n); err != nil {
		return err
	}
	next, err := s.described(ctx, id, &d, n)
	if err != nil {
		return err
	}
	if err := s.checkDraft(&next, by, next.Touched); err != nil {
		return err
	}
	if err := s.checkNames(ctx, next.Spec.Callback); err != nil {
		return err
	}
	if next.Spec.Callback, err = next.Spec.Callback.Seal(s.vault, id); err != nil {
		return err
	}
	if err := s.useUpload(ctx, id, next.Spec.Source); err != nil {
		return err
	}
	var before []string
	_, err = s.drafts.PutIf(ctx, id, match, nil, func(d *Draft, found bool) error {
		if !found {
			return weir.ErrNotFound
		}
		if d.State != Editing {
			return notEditing(id, d.State)
		}
		before = d.Spec.Source.Uploads()
		d.Spec, d.From, d.Given, d.Chosen, d.Touched = next.Spec, next.From, next.Given, next.Chosen, next.Touched
		return nil
	})
	for _, file := range before {
		if err == nil && !slices.Contains(next.Spec.Source.Uploads(), file) {
			err = s.uploads.Release(context.WithoutCancel(ctx), file, id)
		}
	}
	return err
}

// described returns a draft with another description.
func (s *Creates) described(ctx context.Context, id string, d *Draft, n stored.Spec) (Draft, error) {
	next := *d
	old := d.Spec
	var err error
	if old.Callback, err = old.Callback.Open(s.vault, id); err != nil {
		return next, err
	}
	next.Given, next.Chosen, next.From = givenTo(&n), chosenIn(&n), nil
	if n.Template != "" {
		if n, next.From, err = s.templates.Apply(ctx, n, d.Tenant); err != nil {
			return next, err
		}
	}
	n.KeepSecret(&old)
	next.Spec, next.Touched = n, time.Now().UTC()
	return next, nil
}

// mayDescribe refuses a description that a draft cannot get.
func (s *Creates) mayDescribe(ctx context.Context, id string, d *Draft, n *stored.Spec) error {
	var bad weir.InputError
	if n.Tenant != "" && n.Tenant != d.Tenant {
		bad.Add("bad_value", "tenant", fmt.Sprintf("is %.64q, and cannot change", d.Tenant), "leave it out, or create another draft")
	}
	if len(n.Items) > 0 {
		bad.Add("bad_value", "items", "are not part of the description of a draft", "add them with POST …/items")
	}
	if n.Start || n.StartAt != "" {
		bad.Add("bad_value", "start", "is not part of the description of a draft", "start it with POST …/start")
	}
	if err := bad.OrNil(); err != nil {
		return err
	}
	sum, err := s.Sum(ctx, id)
	switch {
	case err != nil:
		return err
	case d.State != Editing:
		return notEditing(id, d.State)
	case sum.parts > 0:
		return &check.Refusal{Code: "wrong_state", Detail: fmt.Sprintf("%s already has %d items, which were read as it says now", id, sum.Items),
			Fix: "clone it, describe the copy, and add the items to that"}
	}
	n.Tenant = ""
	return nil
}

// submittedAlready explains why no draft has that id: it was submitted, or it never existed.
func (s *kept) submittedAlready(ctx context.Context, id string, err error) error {
	if _, other := s.engine.Get(ctx, weir.BulkID(id)); other == nil {
		return notEditing(id, "sealed")
	}
	return err
}

func notEditing(id, state string) error {
	return &check.Refusal{Code: "wrong_state", Detail: fmt.Sprintf("%s is %s, and not a draft any more", id, state), Fix: "clone it, and describe the copy"}
}
