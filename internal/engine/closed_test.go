package engine_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

func TestWhatIsNilIsRefusedByName(t *testing.T) {
	r := start(t, memory(), engine.Options{}, action(noop("step")))
	_, noStore := engine.Open(t.Context(), nil, engine.Options{})
	_, noItems := attempt(t.Context(), r.Engine, spec(noop("step")), nil)
	_, noRaw := r.SubmitAs(t.Context(), engine.Ticket{}, weir.Definition{Name: "step"}, nil, weir.Spec{})
	_, noStage := r.Intake().Stage(t.Context(), "ba_1", weir.KeepAll, nil)
	for field, errs := range map[string][]error{"store": {noStore}, "items": {noItems, noRaw, noStage}} {
		for _, err := range errs {
			var missing *weir.FieldError
			if !errors.As(err, &missing) || missing.Field != field || missing.Code != "missing_field" {
				t.Errorf("%v, want that %s is missing", err, field)
			}
		}
	}
}

func TestAnEngineThatHasRunAcceptsNothing(t *testing.T) {
	s := memory()
	defer s.Close()
	r := open(t, s, engine.Options{}, action(noop("step")))
	if _, err := attempt(t.Context(), r.Engine, spec(noop("step")), engine.Items(numbers(1))); err != nil {
		t.Fatal("before Run:", err) // it need not run where it is submitted
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	must(t, r.Run(ctx))
	if _, err := attempt(t.Context(), r.Engine, spec(noop("step")), engine.Items(numbers(1))); !errors.Is(err, weir.ErrClosed) {
		t.Errorf("after Run: %v, want ErrClosed", err)
	}
}

func TestAnotherNumberOfPartitionsIsLogged(t *testing.T) {
	s := memory()
	defer s.Close()
	for _, tt := range []struct {
		partitions int
		want       string // empty: no line
	}{
		{4, ""}, {0, ""}, {2, "partitions=2 before=4 kept=4"}, {0, "partitions=2 before=2 kept=4"}, {4, "partitions=4 before=2 kept=4"}, {4, ""}, {8, "partitions=8 before=4 kept=8"},
	} {
		var log bytes.Buffer
		_, err := engine.Open(t.Context(), s, engine.Options{Partitions: tt.partitions, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		must(t, err)
		if got := log.String(); strings.Contains(got, "new work is spread") != (tt.want != "") || !strings.Contains(got, tt.want) {
			t.Errorf("%d partitions: logged %q, want %q", tt.partitions, got, tt.want)
		}
	}
}
