package engine_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

func TestNobodyWaitsLongForASlotThatOthersUseInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts spans
		step := func(name string, d time.Duration) weir.Action[int, string] {
			return weir.Action[int, string]{Name: name, BatchSize: 10, Handle: func(_ context.Context, b *weir.Batch[int, string]) error {
				starts.note(b.Bulk())
				time.Sleep(d)
				b.DoneRest()
				return nil
			}}
		}
		first := step("award", 10*time.Millisecond)
		second := weir.Action[string, string]{Name: "message", BatchSize: 10, Handle: func(_ context.Context, b *weir.Batch[string, string]) error {
			starts.note(b.Bulk())
			time.Sleep(5 * time.Millisecond)
			b.DoneRest()
			return nil
		}}
		c := weir.Then(weir.Start(first), second, joined)
		r := start(t, memory(), engine.Options{Partitions: 8, Slots: 4}, chain(c))
		time.Sleep(time.Second)
		var bulks []*engine.BulkAction
		for i := range 12 {
			bulks = append(bulks, submit(t, r, job[int]{Chain: c, Spec: weir.Spec{Tenant: fmt.Sprint("tenant ", i)}}, numbers(2000)))
		}
		for _, b := range bulks {
			wait(t, b)
		}
		// A turn of all twelve takes 4 slots some 45 ms.
		if gap := starts.longest(); gap > 400*time.Millisecond {
			t.Errorf("a bulk action stood still for %v", gap)
		}
	})
}
