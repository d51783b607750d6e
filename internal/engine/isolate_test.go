package engine_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store/memstore"
)

// Two items of a thousand that make every batch fail are found in seconds, and
// the estimate never promises an end before the last attempt that is due.
func TestPoisonousItemsAreFoundInSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		e, err := engine.Open(ctx, memstore.New(memstore.Options{}), engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		chain := weir.Start(weir.Action[int, struct{}]{Name: "pick", Handle: func(_ context.Context, b *weir.Batch[int, struct{}]) error {
			time.Sleep(10 * time.Millisecond)
			for _, it := range b.Items() {
				if it.Value == 333 || it.Value == 777 {
					return errors.New("cannot")
				}
			}
			for i := range b.Items() {
				b.Done(i, struct{}{})
			}
			return nil
		}})
		if err := e.Handle(chain); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		var items []weir.Item[int]
		for i := range 1000 {
			items = append(items, weir.Item[int]{ID: strconv.Itoa(i), Value: i})
		}
		begin := time.Now()
		b, err := engine.Submit(ctx, e, chain, engine.Items(items), weir.Spec{})
		if err != nil {
			t.Fatal(err)
		}
		for p := range b.Progress(ctx) {
			if left := time.Until(p.Due); !p.Due.IsZero() && !p.Failing() && p.Remaining < left { // while calls fail it is unknown
				t.Fatalf("remaining %v, and the last attempt is due in %v", p.Remaining, left)
			}
			if p.State.Final() && p.Counts.Failed != 2 {
				t.Errorf("%d failed, want 2", p.Counts.Failed)
			}
		}
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("took %v, want at most 30s", took)
		} else {
			t.Logf("took %v", took)
		}
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	})
}
