package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store/storetest"
	"golang.org/x/sync/errgroup"
)

// BenchmarkRestart is the time from opening the embedded store with 50,000 unfinished
// bulk actions of ten items each to the first task, after a clean stop and after a death.
func BenchmarkRestart(b *testing.B) {
	for _, death := range []bool{false, true} {
		b.Run(fmt.Sprintf("death=%t", death), func(b *testing.B) { benchmarkRestart(b, death) })
	}
}

func benchmarkRestart(b *testing.B, death bool) {
	started := make(chan time.Time, 1)
	stuck := weir.Action[int, string]{Name: "stuck", Handle: func(ctx context.Context, _ *weir.Batch[int, string]) error {
		select {
		case started <- time.Now():
		default:
		}
		<-ctx.Done()
		return ctx.Err()
	}}
	dir := b.TempDir()
	begin := func() (*rig, func()) {
		s := disk(b, dir)
		var dead atomic.Bool // what it does from then on does not reach the store
		r := start(b, &storetest.Flaky{Store: s, Fail: func(storetest.Call) storetest.Fault {
			if dead.Load() {
				return storetest.Fault{Before: errStore}
			}
			return storetest.Fault{}
		}}, engine.Options{Partitions: 8, DrainFor: time.Millisecond, LeaseFor: time.Second}, action(stuck))
		return r, func() {
			dead.Store(death)
			_ = r.stop() // a death is an error
			_ = s.Close()
			select {
			case <-started:
			default:
			}
		}
	}
	r, stop := begin()
	var submits errgroup.Group
	submits.SetLimit(16)
	for i := range 50_000 {
		submits.Go(func() error {
			s := spec(stuck)
			s.Tenant = fmt.Sprint("t", i%100)
			_, err := attempt(b.Context(), r.Engine, s, engine.Items(numbers(10)))
			return err
		})
	}
	if err := submits.Wait(); err != nil {
		b.Fatal(err)
	}
	stop()
	took := time.Duration(0)
	for b.Loop() {
		began := time.Now()
		_, stop := begin()
		took += (<-started).Sub(began)
		stop()
	}
	b.ReportMetric(float64(took.Milliseconds())/float64(b.N), "ms-to-first-task")
}
