package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

// TestLanesCountASharedBulkActionOnce: where several partitions work on a bulk action, what their lanes say is waiting
// adds up to what its progress says, and they have no more ready than it has: each has its own part, and some of it is
// not handed out yet.
func TestLanesCountASharedBulkActionOnce(t *testing.T) {
	var calls, again atomic.Int64 // calls, and items of the first, which are to be tried again
	goOn := make(chan struct{})
	defer close(goOn)
	a := weir.Action[int, string]{Name: "hold", BatchSize: 500, Handle: func(ctx context.Context, b *weir.Batch[int, string]) error {
		if calls.Add(1) == 1 {
			again.Store(int64(b.Len()))
			for i := range b.Len() {
				b.Retry(i, errDown, time.Hour)
			}
			return nil
		}
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		b.DoneRest()
		return nil
	}}
	r := start(t, memory(), sharedOptions, action(a))
	b := submit(t, r, spec(a), numbers(sharedItems))
	var last []any
	for late := time.Now().Add(60 * time.Second); time.Now().Before(late); <-time.After(20 * time.Millisecond) {
		p, err := b.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		nodes, err := r.Operator().Nodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var ready, waiting int64
		lanes := 0
		for _, n := range nodes {
			for i := range n.Lanes {
				ready, waiting = ready+n.Lanes[i].Ready, waiting+n.Lanes[i].Waiting
				if n.Lanes[i].Ready > 0 {
					lanes++
				}
			}
		}
		if lanes > 1 && waiting > 0 && waiting == again.Load() && p.Counts.Waiting == waiting && 0 < ready && ready <= p.Counts.Ready {
			return
		}
		last = []any{lanes, ready, waiting, p.Counts}
	}
	t.Errorf("%d lanes with work, ready %d, waiting %d; progress %+v", last...)
}
