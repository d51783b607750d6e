package service

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/draft"
)

// beside opens a second engine on the store of a service, once the service's engine
// has started: its start removes the items of submits that it does not know.
func beside(t *testing.T, s *Service) *engine.Engine {
	t.Helper()
	other, err := engine.Open(t.Context(), s.opts.Store, engine.Options{Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	id, err := other.Intake().NewID(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); !s.engine.Owns(id); <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the partition has no owner")
		}
	}
	return other
}

// weirRun is a process of weir run on the store of a service.
func weirRun(t *testing.T, s *Service) *Service {
	t.Helper()
	o := s.opts
	o.Runs = func(string) bool { return true }
	base, err := Prepare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(t.Context(), o.Store, engine.Options{Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	run, err := New(base, e, nil)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestWhatWeirRunLeftUnfinishedSaysHowToGoOn(t *testing.T) {
	const hint = "weir run --resume"
	s := crashed(t)
	b, err := weirRun(t, s).Bulks.Create(t.Context(), api.NewBulkAction{
		Steps: []api.Step{{Action: "award"}}, Params: json.RawMessage(`{"weir_run":"ba_1"}`), Items: []api.Item{{ID: "a"}}, Start: true,
	}, draft.Made{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Watch.Progress(t.Context(), b.ID)
	if err != nil || len(p.WaitingOn) != 1 || p.WaitingOn[0].Reason != "unknown_action" || !strings.Contains(p.WaitingOn[0].Detail, hint) {
		t.Errorf("Progress = waits on %+v, %v; want that it goes on with %s", p.WaitingOn, err, hint)
	}
	_, _, err = s.Bulks.Resume(t.Context(), b.ID, "")
	if r := (*check.Refusal)(nil); !errors.As(err, &r) || r.Code != "wrong_state" || !strings.Contains(r.Fix, hint) {
		t.Errorf("Resume = %v, want that it goes on with %s", err, hint)
	}
	_, _, err = s.Bulks.Cancel(t.Context(), b.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Results.Retry(t.Context(), b.ID, api.Again{}, "")
	if r := (*check.Refusal)(nil); !errors.As(err, &r) || r.Code != "wrong_state" || !strings.Contains(r.Fix, "weir retry "+b.ID) {
		t.Errorf("Retry = %v, want that it is retried with weir retry", err)
	}
}
