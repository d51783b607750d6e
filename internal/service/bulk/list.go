package bulk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/stored"
)

// Filter selects the bulk actions to list.
type Filter struct {
	Sees func(tenant string) bool // nil: all
	// Tenants are those that Sees allows; empty: it allows all.
	Tenants []string
	States  []api.State // empty: any
	Name    string      // as a search matches it, see [engine.NameMatches]
	Label   string      // "key=value", or "key" for any value
	Tenant  string
	// Template is the name of the template they were created from.
	Template string
	RetryOf  string // id of the bulk action that they retry
	UndoOf   string // id of the bulk action that they undo
	// CreatedAfter leaves out those created before it, CreatedBefore those created at it or later. Zero: none.
	CreatedAfter, CreatedBefore time.Time
}

// span returns what is older than a place and between the times of the filter.
func (f *Filter) span(before string) (in engine.Span) {
	in.Before = weir.BulkID(before)
	if !f.CreatedAfter.IsZero() {
		in.After = engine.FirstAt(f.CreatedAfter)
	}
	if first := engine.FirstAt(f.CreatedBefore); !f.CreatedBefore.IsZero() && (before == "" || first < in.Before) {
		in.Before = first
	}
	return in
}

// ListNote says why lists may be incomplete; empty: they are complete.
func (s *Bulks) ListNote() string {
	l, ok := errors.AsType[*weir.LossError](s.engine.Lost("a bulk action"))
	if !ok {
		return ""
	}
	return fmt.Sprintf("the store lost accepted work and partition %d is stopped: this list may be incomplete", l.Partition)
}

// List returns bulk actions older than before, the newest first, and where the next list begins; empty: there are no
// more. A list that looked at many bulk actions that it does not show ends early, with fewer than the limit.
func (s *Bulks) List(ctx context.Context, f Filter, before string, limit int) (list []api.BulkAction, next string, err error) {
	// Drafts first: one that is submitted meanwhile is then found as a bulk action.
	drafts, err := s.drafts.IDs(ctx)
	if err != nil {
		return nil, "", err
	}
	in := f.span(before)
	drafts = slices.DeleteFunc(drafts, func(id string) bool { return !in.Has(weir.BulkID(id)) })
	slices.Reverse(drafts) // they are in the order of ids
	var page []*engine.BulkAction
	var end weir.BulkID
	if of := f.submitted(in); len(f.States) == 0 || len(of.States) > 0 {
		if page, end, err = s.engine.Page(ctx, of, limit); err != nil {
			return nil, "", err
		}
	}
	for {
		id, b, isDraft := "", (*engine.BulkAction)(nil), false
		if len(page) > 0 {
			id, b = string(page[0].ID()), page[0]
		}
		if len(drafts) > 0 && drafts[0] >= max(id, string(end)) {
			if isDraft = drafts[0] != id; isDraft { // else it was submitted a moment ago
				id, b = drafts[0], nil
			}
			drafts = drafts[1:]
		}
		switch {
		case id == "":
			return list, string(end), nil
		case !isDraft:
			page = page[1:]
		}
		shown, err := s.shown(ctx, id, b, &f)
		if err != nil {
			return nil, "", err
		}
		switch {
		case shown == nil:
		case len(list) == limit:
			return list, list[limit-1].ID, nil
		default:
			list = append(list, *shown)
		}
	}
}

// shown returns a bulk action that was found, or a draft; nil: the filter leaves it out, or it was removed meanwhile.
func (s *Bulks) shown(ctx context.Context, id string, b *engine.BulkAction, f *Filter) (*api.BulkAction, error) {
	var view api.BulkAction
	var err error
	if b != nil {
		view, err = s.View(ctx, b)
	} else {
		view, err = s.Get(ctx, id)
	}
	if errors.Is(err, weir.ErrNotFound) || errors.Is(err, weir.ErrExpired) {
		return nil, nil
	}
	if err != nil || !f.match(&view) {
		return nil, err
	}
	return &view, nil
}

// mostTenants is how many tenants of a filter are looked up; of more, all bulk actions are looked at.
const mostTenants = 32

// submitted returns what the filter asks of bulk actions that were submitted.
func (f *Filter) submitted(in engine.Span) engine.Filter {
	of := engine.Filter{Span: in, RetryOf: weir.BulkID(f.RetryOf)}
	for s := weir.BulkRunning; s <= weir.BulkAwaiting; s++ {
		if slices.Contains(f.States, StateOf(s)) {
			of.States = append(of.States, s)
		}
	}
	if f.Label != "" {
		of.Terms = append(of.Terms, stored.LabelTerm(f.Label))
	}
	if f.Template != "" {
		of.Terms = append(of.Terms, stored.TemplateTerm(f.Template))
	}
	if f.UndoOf != "" {
		of.Terms = append(of.Terms, stored.UndoTerm(f.UndoOf))
	}
	switch {
	case f.Tenant != "":
		of.Tenants = []string{f.Tenant}
	case len(f.Tenants) > 0 && len(f.Tenants) <= mostTenants:
		of.Tenants = f.Tenants
	}
	of.Name = f.Name
	if len(of.Tenants) == 0 && len(f.Tenants) > 0 {
		of.Sees = f.Sees
	}
	return of
}

// match reports whether the filter selects a bulk action: terms of the index are hashes, and drafts are not in it.
func (f *Filter) match(b *api.BulkAction) bool {
	key, want, exact := strings.Cut(f.Label, "=")
	value, has := b.Labels[key]
	return (f.Sees == nil || f.Sees(b.Tenant)) && (len(f.States) == 0 || slices.Contains(f.States, b.State)) &&
		(f.Tenant == "" || b.Tenant == f.Tenant) && engine.NameMatches(b.Name, f.Name) &&
		(f.Label == "" || has && (!exact || value == want)) &&
		(f.Template == "" || b.Template != nil && b.Template.Name == f.Template) &&
		(f.RetryOf == "" || b.RetryOf == f.RetryOf) && (f.UndoOf == "" || b.UndoOf == f.UndoOf)
}
