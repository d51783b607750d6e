package service

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/edge/egress"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/draft"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/stored"
	"github.com/weirhq/weir/internal/service/vault"
	"github.com/weirhq/weir/store/memstore"
)

// crashed is a service whose engine runs, and whose keepers a test starts when it has prepared what a crash leaves.
func crashed(t *testing.T) *Service {
	t.Helper()
	v, err := vault.New(vault.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	st := &watched{Store: memstore.New(memstore.Options{})}
	nothing := weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{
		Name: "award",
		Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			b.DoneRest()
			return nil
		},
	})
	b, err := Prepare(t.Context(), Options{Store: st, Guard: egress.New(egress.Policy{}), Vault: v, Steps: []weir.Step{nothing}, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	o := engine.Options{Logger: log, Partitions: 1}
	e, err := engine.Open(t.Context(), st, o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(b, e, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() }) // after the engine has ended
	runs(t, e.Run)
	return s
}

// runs runs something until the test ends.
func runs(t *testing.T, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
}

func sealedBulk(t *testing.T, s *Service) api.BulkAction {
	t.Helper()
	b, err := s.Bulks.Create(t.Context(), api.NewBulkAction{Steps: []api.Step{{Action: "award"}}, Items: []api.Item{{ID: "a"}, {ID: "b"}}}, draft.Made{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWhatACrashLeavesOfASubmittedDraftIsRemoved(t *testing.T) {
	s := crashed(t)
	b := sealedBulk(t, s)
	left := draft.Draft{Spec: stored.Spec{Steps: stored.StepsOf(b.Steps)}, Tenant: "default", Touched: time.Now(), State: draft.Submitted}
	if _, err := drafts(s).Insert(t.Context(), b.ID, left); err != nil { // its log is gone already
		t.Fatal(err)
	}
	_, _, err := s.Drafts.Append(t.Context(), b.ID, "k", draft.Rows{Bad: func() int64 { return 0 }})
	if !isCode(err, "sealed") {
		t.Errorf("Append = %v, want sealed", err)
	}
	runs(t, s.Run)
	for end := time.Now().Add(20 * time.Second); ; <-time.After(5 * time.Millisecond) {
		if _, err := s.Drafts.Get(t.Context(), b.ID); errors.Is(err, weir.ErrNotFound) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the draft is still there")
		}
	}
	if now, err := s.Bulks.Get(t.Context(), b.ID); err != nil || now.State != api.Sealed || now.Counts.Total != 2 {
		t.Errorf("Get = %+v, %v; want it sealed with 2 items", now, err)
	}
}

func TestACancelThatMeetsASubmitIsKept(t *testing.T) {
	s := crashed(t)
	b := sealedBulk(t, s)
	left := draft.Draft{Spec: stored.Spec{Steps: stored.StepsOf(b.Steps)}, Tenant: "default", Touched: time.Now(), State: draft.Sealing}
	if _, err := drafts(s).Insert(t.Context(), b.ID, left); err != nil { // the submit has been heard; its caller does not know yet
		t.Fatal(err)
	}
	if _, _, err := s.Bulks.Cancel(t.Context(), b.ID, "changed my mind"); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; <-time.After(5 * time.Millisecond) {
		now, err := s.Bulks.Get(t.Context(), b.ID)
		if err == nil && now.State == api.Cancelled && now.Counts.Cancelled == 2 {
			return
		}
		if err != nil || time.Now().After(end) {
			t.Fatalf("Get = %+v, %v; want it cancelled", now, err)
		}
	}
}

func TestCreatingAgainWhatWasSubmittedMakesNothing(t *testing.T) {
	s := crashed(t)
	b := sealedBulk(t, s)
	again, err := s.Bulks.Create(t.Context(), api.NewBulkAction{Steps: b.Steps}, draft.Made{ID: b.ID})
	if err != nil || again.ID != b.ID || again.State != api.Sealed {
		t.Errorf("Create = %+v, %v; want what is there", again, err)
	}
	if _, err := s.Drafts.Get(t.Context(), b.ID); !errors.Is(err, weir.ErrNotFound) {
		t.Errorf("there is a draft of it: %v", err)
	}
}

// drafts returns the records of drafts.
func drafts(s *Service) *records.Table[draft.Draft] {
	return records.New[draft.Draft](s.opts.Store, "draft")
}

func isCode(err error, code string) bool {
	var r *check.Refusal
	return errors.As(err, &r) && r.Code == code
}

// TestWhatIsSubmittedWhileACommandLooksIsNotMissing: another node submits the draft, and
// removes it, between two looks of a command at it.
func TestWhatIsSubmittedWhileACommandLooksIsNotMissing(t *testing.T) {
	source := &api.Source{Segment: &api.SegmentSource{URL: "https://example.com/segment"}}
	for _, tt := range []struct {
		name   string
		source *api.Source
		do     func(s *Service, id string) error
		code   string // of the refusal; empty: none is expected
	}{
		{"Import", nil, func(s *Service, id string) error { return s.Drafts.Import(t.Context(), id, *source, "") }, "sealed"},
		{"Seal", nil, func(s *Service, id string) error { _, err := s.Drafts.Seal(t.Context(), id, api.Seal{}); return err }, ""},
		{"Start", source, func(s *Service, id string) error {
			_, _, err := s.Bulks.Start(t.Context(), id, api.Start{})
			return err
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := crashed(t)
			b := sealedBulk(t, s)
			left := draft.Draft{Spec: stored.Spec{Steps: stored.StepsOf(b.Steps), Source: stored.SourceOf(tt.source)}, Tenant: "default", Touched: time.Now(), State: draft.Editing}
			if _, err := drafts(s).Insert(t.Context(), b.ID, left); err != nil {
				t.Fatal(err)
			}
			w := storeOf(s)
			w.looks = func() error {
				w.looks = func() error { return drafts(s).Delete(t.Context(), b.ID) }
				return nil
			}
			if err := tt.do(s, b.ID); (err != nil || tt.code != "") && !isCode(err, tt.code) {
				t.Errorf("%s = %v, want code %q", tt.name, err, tt.code)
			}
		})
	}
}
