package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store/memstore"
)

// The attempts of a row are those at the step that it names, not the most of any step.
func TestAttemptsOfARowAreOfItsStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		e, err := engine.Open(ctx, memstore.New(memstore.Options{}), engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		tries := 0
		first := weir.Action[int, int]{Name: "first", Handle: func(_ context.Context, b *weir.Batch[int, int]) error {
			if tries++; tries < 3 {
				b.Retry(0, errors.New("not yet"), 0)
				return nil
			}
			b.Done(0, 1)
			return nil
		}}
		second := weir.Action[int, int]{Name: "second", Handle: func(_ context.Context, b *weir.Batch[int, int]) error {
			b.Done(0, 2)
			return nil
		}}
		chain := weir.Then(weir.Start(first), second, func(_ weir.Item[int], out int) int { return out })
		if err := e.Handle(chain); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		b, err := engine.Submit(ctx, e, chain, engine.Items([]weir.Item[int]{{ID: "a"}}), weir.Spec{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := b.Wait(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for row, err := range r.Rows(ctx) {
			if err != nil || row.Step != "second" || row.Attempts != 1 {
				t.Errorf("%d attempts at step %s, want 1 at second (%v)", row.Attempts, row.Step, err)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	})
}
