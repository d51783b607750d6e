package bulk

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
)

// Filter selects the bulk actions to list.
type Filter struct {
	Sees   func(tenant string) bool // nil: all
	States []api.State              // empty: any
	Name   string
	Label  string // "key=value", or "key" for any value
	Tenant string
	// Template is the name of the template they were created from.
	Template string
}

// ListNote says why lists may be incomplete; empty: they are complete.
func (s *Bulks) ListNote() string {
	l, ok := errors.AsType[*weir.LossError](s.engine.Lost("a bulk action"))
	if !ok {
		return ""
	}
	return fmt.Sprintf("the store lost accepted work and partition %d is stopped: this list may be incomplete", l.Partition)
}

// List returns bulk actions older than before, the newest first. Of those that have ended it reads only those that it
// returns.
func (s *Bulks) List(ctx context.Context, f Filter, before string, limit int) (list []api.BulkAction, more bool, err error) {
	ids, err := s.ids(ctx, &f, before)
	if err != nil {
		return nil, false, err
	}
	for id := range ids {
		if t, known := s.ended.get(id); known && !f.match(&t) {
			continue
		}
		b, err := s.Get(ctx, id)
		if errors.Is(err, weir.ErrNotFound) || errors.Is(err, weir.ErrExpired) {
			s.ended.forget(id)
			continue // removed in the meantime
		}
		if err != nil {
			return nil, false, err
		}
		t := traitsOf(&b)
		s.ended.keep(id, &b, t)
		switch {
		case !f.match(&t):
			continue
		case len(list) == limit:
			return list, true, nil
		}
		list = append(list, b)
	}
	return list, false, nil
}

// ids yields the ids of the bulk actions and drafts before one that a filter may match, the newest first.
func (s *Bulks) ids(ctx context.Context, f *Filter, before string) (iter.Seq[string], error) {
	// Drafts first: one that is submitted meanwhile is then found as a bulk action.
	drafts, err := s.drafts.IDs(ctx)
	if err != nil {
		return nil, err
	}
	list := s.engine.IDs
	if len(f.States) > 0 && !slices.ContainsFunc(f.States, api.State.Final) {
		list = s.engine.Unfinished
	}
	all, err := list(ctx)
	if err != nil {
		return nil, err
	}
	slices.Reverse(drafts) // they are in the order of ids
	if before != "" {
		all = all[sort.Search(len(all), func(i int) bool { return string(all[i]) < before }):]
		drafts = drafts[sort.Search(len(drafts), func(i int) bool { return drafts[i] < before }):]
	}
	return func(yield func(string) bool) {
		for _, id := range all {
			for len(drafts) > 0 && drafts[0] > string(id) {
				if !yield(drafts[0]) {
					return
				}
				drafts = drafts[1:]
			}
			if len(drafts) > 0 && drafts[0] == string(id) { // it was submitted a moment ago
				drafts = drafts[1:]
			}
			if !yield(string(id)) {
				return
			}
		}
		for _, id := range drafts {
			if !yield(id) {
				return
			}
		}
	}, nil
}

// traits are what lists filter by.
type traits struct {
	tenant, name, template string
	labels                 map[string]string
	state                  api.State
}

func traitsOf(b *api.BulkAction) traits {
	t := traits{tenant: b.Tenant, name: b.Name, labels: b.Labels, state: b.State}
	if b.Template != nil {
		t.template = b.Template.Name
	}
	return t
}

func (f *Filter) match(t *traits) bool {
	key, want, exact := strings.Cut(f.Label, "=")
	value, has := t.labels[key]
	return (f.Sees == nil || f.Sees(t.tenant)) && (len(f.States) == 0 || slices.Contains(f.States, t.state)) && (f.Tenant == "" || t.tenant == f.Tenant) &&
		(f.Name == "" || strings.Contains(t.name, f.Name)) && (f.Label == "" || has && (!exact || value == want)) &&
		(f.Template == "" || t.template == f.Template)
}

// mostEnded bounds how many bulk actions that have ended are remembered: some 300 bytes each.
const mostEnded = 200_000

// ended remembers the traits of bulk actions that have ended: they do not change any more.
type ended struct {
	mu   sync.RWMutex
	kept map[string]traits
}

func (e *ended) get(id string) (traits, bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	t, ok := e.kept[id]
	return t, ok
}

// keep remembers a bulk action if it has ended.
func (e *ended) keep(id string, b *api.BulkAction, t traits) {
	if !b.State.Final() || b.StartedAt.IsZero() { // a draft that was cancelled can be removed by hand
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.kept == nil || len(e.kept) >= mostEnded {
		e.kept = map[string]traits{}
	}
	e.kept[id] = t
}

func (e *ended) forget(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.kept, id)
}
