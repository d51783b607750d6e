package service

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store"
)

// watched is a store that tells of the next look for a draft.
type watched struct {
	store.Store
	looks func() error
}

func (w *watched) Lookup(ctx context.Context, name string) ([]byte, error) {
	if looks := w.looks; looks != nil && strings.HasPrefix(name, "draft/") {
		w.looks = nil
		if err := looks(); err != nil {
			return nil, err
		}
	}
	return w.Store.Lookup(ctx, name)
}

func storeOf(s *Service) *watched { return s.opts.Store.(*watched) }

func TestProgressOfWhatIsSubmittedBetweenTwoLooksIsThatOfASubmittedOne(t *testing.T) {
	s := crashed(t)
	other := beside(t, s)
	chain := weir.Raw("awards", s.opts.Steps[0])
	if err := other.Handle(chain); err != nil {
		t.Fatal(err)
	}
	id, err := other.Intake().NewID(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	storeOf(s).looks = func() error {
		_, err := other.SubmitAs(t.Context(), engine.Ticket{ID: id}, chain.Definition(),
			func(yield func(weir.RawItem, error) bool) {
				yield(weir.RawItem{ID: "a", Value: json.RawMessage("{}")}, nil)
			}, weir.Spec{})
		return err
	}
	p, err := s.Watch.Progress(t.Context(), string(id))
	if err != nil || p.Counts.Total != 1 || slices.Contains(p.WaitingOn, api.Cause{Reason: "running"}) {
		t.Errorf("Progress = %+v, %v; want one item, and no state as what it waits on", p, err)
	}
}

func TestAStoreThatFailsIsNoMissingBulkAction(t *testing.T) {
	s := crashed(t)
	id, err := s.engine.Intake().NewID(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("the store is gone")
	w := storeOf(s)
	for name, find := range map[string]func() error{
		"Get":      func() error { _, err := s.Bulks.Get(t.Context(), string(id)); return err },
		"Bulk":     func() error { _, err := s.Bulks.Bulk(t.Context(), string(id)); return err },
		"Progress": func() error { _, err := s.Watch.Progress(t.Context(), string(id)); return err },
	} {
		w.looks = func() error { return gone }
		if err := find(); !errors.Is(err, gone) || errors.Is(err, weir.ErrNotFound) {
			t.Errorf("%s = %v, want %v", name, err, gone)
		}
	}
}
