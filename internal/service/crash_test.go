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
	st := memstore.New(memstore.Options{})
	nothing := weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{
		Name: "award",
		Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, json.RawMessage]) error {
			b.DoneRest()
			return nil
		},
	})
	s, err := New(t.Context(), Options{Store: st, Guard: egress.New(egress.Policy{}), Vault: v, Steps: []weir.Step{nothing}, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(t.Context(), st, engine.Options{Logger: log, Partitions: 1, Describe: s.Describe, Events: s.Event, Drafts: s.IsDraft})
	if err != nil {
		t.Fatal(err)
	}
	s.Attach(e)
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
	b, err := s.Create(t.Context(), api.NewBulkAction{Steps: []api.Step{{Action: "award"}}, Items: []api.Item{{ID: "a"}, {ID: "b"}}}, Made{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWhatACrashLeavesOfASubmittedDraftIsRemoved(t *testing.T) {
	s := crashed(t)
	b := sealedBulk(t, s)
	left := draft{Spec: api.NewBulkAction{Steps: b.Steps}, Tenant: "default", Touched: time.Now(), State: isSubmitted}
	if _, err := s.drafts.Insert(t.Context(), b.ID, left); err != nil { // its log is gone already
		t.Fatal(err)
	}
	_, _, err := s.Append(t.Context(), b.ID, "k", Rows{Bad: func() int64 { return 0 }})
	if !isCode(err, "sealed") {
		t.Errorf("Append = %v, want sealed", err)
	}
	runs(t, s.Run)
	for end := time.Now().Add(20 * time.Second); ; <-time.After(5 * time.Millisecond) {
		if _, err := s.getDraft(t.Context(), b.ID); errors.Is(err, weir.ErrNotFound) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the draft is still there")
		}
	}
	if now, err := s.Get(t.Context(), b.ID); err != nil || now.State != api.Sealed || now.Counts.Total != 2 {
		t.Errorf("Get = %+v, %v; want it sealed with 2 items", now, err)
	}
}

func TestACancelThatMeetsASubmitIsKept(t *testing.T) {
	s := crashed(t)
	b := sealedBulk(t, s)
	left := draft{Spec: api.NewBulkAction{Steps: b.Steps}, Tenant: "default", Touched: time.Now(), State: isSealing}
	if _, err := s.drafts.Insert(t.Context(), b.ID, left); err != nil { // the submit has been heard; its caller does not know yet
		t.Fatal(err)
	}
	if _, err := s.Cancel(t.Context(), b.ID, "changed my mind"); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; <-time.After(5 * time.Millisecond) {
		now, err := s.Get(t.Context(), b.ID)
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
	again, err := s.Create(t.Context(), api.NewBulkAction{Steps: b.Steps}, Made{ID: b.ID})
	if err != nil || again.ID != b.ID || again.State != api.Sealed {
		t.Errorf("Create = %+v, %v; want what is there", again, err)
	}
	if _, err := s.getDraft(t.Context(), b.ID); !errors.Is(err, weir.ErrNotFound) {
		t.Errorf("there is a draft of it: %v", err)
	}
}

func isCode(err error, code string) bool {
	var r *Refusal
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
		{"Import", nil, func(s *Service, id string) error { _, err := s.Import(t.Context(), id, *source, ""); return err }, "sealed"},
		{"Seal", nil, func(s *Service, id string) error { _, err := s.Seal(t.Context(), id, api.Seal{}); return err }, ""},
		{"Start", source, func(s *Service, id string) error { _, err := s.Start(t.Context(), id, api.Start{}); return err }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := crashed(t)
			b := sealedBulk(t, s)
			left := draft{Spec: api.NewBulkAction{Steps: b.Steps, Source: tt.source}, Tenant: "default", Touched: time.Now(), State: isDraft}
			if _, err := s.drafts.Insert(t.Context(), b.ID, left); err != nil {
				t.Fatal(err)
			}
			w := watch(s)
			w.looks = func() error {
				w.looks = func() error { return s.drafts.Delete(t.Context(), b.ID) }
				return nil
			}
			if err := tt.do(s, b.ID); (err != nil || tt.code != "") && !isCode(err, tt.code) {
				t.Errorf("%s = %v, want code %q", tt.name, err, tt.code)
			}
		})
	}
}
