package service

import (
	"errors"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/bulk"
	"github.com/weirhq/weir/internal/service/draft"
	"github.com/weirhq/weir/internal/service/records"
)

func priority(n int) *api.Change { return &api.Change{Priority: &n} }

// only agrees to one version.
func only(version string) records.Match {
	return func(v string) error {
		if v != version {
			return records.ErrChanged
		}
		return nil
	}
}

func TestAChangeThatWasOvertakenIsRefused(t *testing.T) {
	s := crashed(t)
	b := sealedBulk(t, s)
	version := bulk.RulesVersion(&b)
	_, err := s.Bulks.Change(t.Context(), b.ID, priority(4), func(v string) error { // it agrees, and is overtaken then
		if _, err := s.Bulks.Change(t.Context(), b.ID, priority(5), nil); err != nil {
			t.Error(err)
		}
		return only(version)(v)
	})
	now, again := s.Bulks.Get(t.Context(), b.ID)
	if !errors.Is(err, records.ErrChanged) || again != nil || now.Priority != 5 {
		t.Errorf("Change = %v, and the priority is %d, %v; want it refused", err, now.Priority, again)
	}
}

func TestABadChangeChangesNothing(t *testing.T) {
	s := crashed(t)
	b := sealedBulk(t, s)
	version := bulk.RulesVersion(&b)
	_, err := s.Bulks.Change(t.Context(), b.ID, &api.Change{Rates: map[string]api.Rate{"nope": 5}}, only(version))
	if bad := (*weir.InputError)(nil); !errors.As(err, &bad) {
		t.Fatalf("Change = %v, want an unknown step", err)
	}
	if after, err := s.Bulks.Change(t.Context(), b.ID, priority(4), only(version)); err != nil || after.Priority != 4 {
		t.Errorf("Change = priority %d, %v", after.Priority, err)
	}
}

func TestADraftThatWasCancelledStaysSo(t *testing.T) {
	s := crashed(t)
	b, err := s.Bulks.Create(t.Context(), api.NewBulkAction{Steps: []api.Step{{Action: "award"}}, AllowEmpty: true}, draft.Made{})
	if err != nil {
		t.Fatal(err)
	}
	w := storeOf(s)
	w.looks = func() error { // by a request that is about to seal it
		w.looks = func() error {
			now, _, err := s.Bulks.Cancel(t.Context(), b.ID, "never mind")
			if now.State != api.Cancelled {
				t.Errorf("Cancel = %s, %v", now.State, err)
			}
			return err
		}
		return nil
	}
	if _, err := s.Drafts.Seal(t.Context(), b.ID, api.Seal{Start: true}); !isCode(err, "already_ended") {
		t.Errorf("the seal that came too late = %v", err)
	}
	if now, err := s.Bulks.Get(t.Context(), b.ID); err != nil || now.State != api.Cancelled {
		t.Errorf("Get = %s, %v; want it cancelled for good", now.State, err)
	}
}

func TestADraftIsCancellingWhileItMayBeSubmitted(t *testing.T) {
	for _, tt := range []struct {
		name   string
		sealed bool
		want   api.State
	}{
		{"its log is sealed: a process may be submitting it", true, api.Cancelling},
		{"its log is not sealed: no process will", false, api.Cancelled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // one of them waits
			s := crashed(t)
			b, err := s.Bulks.Create(t.Context(), api.NewBulkAction{Steps: []api.Step{{Action: "award"}}, AllowEmpty: true}, draft.Made{})
			if err == nil {
				_, err = drafts(s).Update(t.Context(), b.ID, func(d *draft.Draft) error { d.State = draft.Sealing; return nil })
			}
			if err == nil && tt.sealed {
				_, err = records.New[map[string]any](s.opts.Store, "part").Insert(t.Context(), b.ID+"/00000000", map[string]any{"seal": map[string]any{"at": time.Now()}})
			}
			if err != nil {
				t.Fatal(err)
			}
			if now, _, err := s.Bulks.Cancel(t.Context(), b.ID, "never mind"); err != nil || now.State != tt.want {
				t.Errorf("Cancel = %s, %v; want %s", now.State, err, tt.want)
			}
		})
	}
}
