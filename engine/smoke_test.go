package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store/pebblestore"
)

func TestSmoke(t *testing.T) {
	for _, batch := range []int{100, 1} {
		s, err := pebblestore.Open(t.TempDir(), pebblestore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		e, err := Open(ctx, s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		a := weir.Action[json.RawMessage, struct{}]{Name: "noop", BatchSize: batch, Handle: func(ctx context.Context, b *weir.Batch[json.RawMessage, struct{}]) error {
			b.DoneRest()
			return nil
		}}
		if err := Handle(e, a); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { ended <- e.Run(ctx) }()
		n := 1_000_000
		start := time.Now()
		ba, err := Submit(ctx, e, weir.Spec[json.RawMessage, struct{}]{Chain: weir.Start(a)}, func(yield func(weir.RawItem, error) bool) {
			for i := range n {
				id := fmt.Sprintf("u%07d", i)
				if !yield(weir.RawItem{ID: id, Value: fmt.Appendf(nil, `{"user_id":"%s","amount":%d,"country":"DE","email":"user%d@example.com"}`, id, i%500, i)}, nil) {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		sub := time.Since(start)
		for p := range ba.Progress(ctx) {
			_ = p
		}
		took := time.Since(start)
		rep, err := ba.Wait(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("batch %d: submit %v, all %v: %.0f items/s; %+v", batch, sub, took, float64(n)/took.Seconds(), rep.Counts)
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
}
