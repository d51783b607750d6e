package service

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
)

// beside opens a second engine on the store of a service, once the service's engine
// has started: its start removes the items of submits that it does not know.
func beside(t *testing.T, s *Service) *engine.Engine {
	t.Helper()
	other, err := engine.Open(t.Context(), s.opts.Store, engine.Options{Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	id, err := other.NewID(t.Context(), "default")
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

func TestWhatWeirRunLeftUnfinishedSaysHowToGoOn(t *testing.T) {
	const hint = "weir run --resume"
	s := crashed(t)
	other := beside(t, s)
	name := "run-" + strings.ToLower(ulid.Make().String())
	nothing := weir.RawStep(weir.Action[json.RawMessage, json.RawMessage]{
		Name: "award", Handle: func(context.Context, *weir.Batch[json.RawMessage, json.RawMessage]) error { return nil },
	})
	chain := weir.Raw(name, nothing)
	if err := other.Handle(chain); err != nil {
		t.Fatal(err)
	}
	b, err := engine.Submit(t.Context(), other, chain, engine.Items([]weir.Item[json.RawMessage]{{ID: "a", Value: json.RawMessage("{}")}}), weir.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Progress(t.Context(), string(b.ID()))
	if err != nil || len(p.WaitingOn) != 1 || p.WaitingOn[0].Reason != "unknown_action" || !strings.Contains(p.WaitingOn[0].Detail, hint) {
		t.Errorf("Progress = waits on %+v, %v; want that it goes on with %s", p.WaitingOn, err, hint)
	}
	_, err = s.Resume(t.Context(), string(b.ID()), "")
	if r := (*Refusal)(nil); !errors.As(err, &r) || r.Code != "wrong_state" || !strings.Contains(r.Fix, hint) {
		t.Errorf("Resume = %v, want that it goes on with %s", err, hint)
	}
	_, err = s.Cancel(t.Context(), string(b.ID()), "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Retry(t.Context(), string(b.ID()), api.Again{}, "")
	if r := (*Refusal)(nil); !errors.As(err, &r) || r.Code != "wrong_state" || !strings.Contains(r.Fix, "weir retry "+string(b.ID())) {
		t.Errorf("Retry = %v, want that it is retried with weir retry", err)
	}
}
