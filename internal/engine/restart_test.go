package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store/storetest"
)

// A node that starts reads the rows of unfinished bulk actions together, and asks
// nothing else about each of them before the first task starts.
func TestTheReadsBeforeTheFirstTaskDoNotGrowWithTheBulkActions(t *testing.T) {
	few, many := readsOfARestart(t, 10), readsOfARestart(t, 400)
	if many > few+30 { // what goes on beside that reads, too
		t.Errorf("a restart made %d reads with 400 bulk actions and %d with 10; want about the same", many, few)
	}
}

// readsOfARestart leaves bulk actions behind, half of them begun, and returns how many
// reads the next engine needs until its first task starts.
func readsOfARestart(t *testing.T, bulks int) (needed int64) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int64
		var first atomic.Pointer[chan int64] // takes the reads before the first task
		a := weir.Action[int, string]{Name: "half", BatchSize: 5, Handle: func(_ context.Context, b *weir.Batch[int, string]) error {
			if c := first.Swap(nil); c != nil {
				*c <- reads.Load()
			}
			for i, it := range b.Items() {
				if it.Value < 5 {
					b.Done(i, "")
				} else {
					b.Retry(i, errDown, time.Minute)
				}
			}
			return nil
		}}
		s := &storetest.Flaky{Store: memory(), Fail: func(c storetest.Call) storetest.Fault {
			switch c.Op {
			case storetest.OpGet, storetest.OpGetMany, storetest.OpScan, storetest.OpLookup:
				reads.Add(1)
			default: // not a read of rows
			}
			return storetest.Fault{}
		}}
		options := engine.Options{Drafts: func(context.Context, weir.BulkID) (bool, error) {
			reads.Add(1)
			return false, nil
		}}
		r := start(t, s, options, action(a))
		for i := range bulks {
			x := spec(a)
			x.Tenant = fmt.Sprint("t", i%7)
			if i%2 > 0 {
				x.StartAt = time.Now().Add(time.Hour)
			}
			submit(t, r, x, numbers(10))
		}
		synctest.Wait()
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute) // the retries are due
		started := make(chan int64, 1)
		first.Store(&started)
		reads.Store(0)
		r = start(t, s, options, action(a))
		needed = <-started
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
	})
	return needed
}
