package redisstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store/redisstore"
	"golang.org/x/sync/errgroup"
)

// BenchmarkBulkAction is a million items through a handler that does nothing,
// from submit to the last result. The server syncs its log every second, or
// before every answer.
func BenchmarkBulkAction(b *testing.B) {
	const n = 1_000_000
	for _, c := range []struct {
		fsync string
		mode  redisstore.Mode
		batch int
	}{{"everysec", redisstore.Memory, 100}, {"everysec", redisstore.Memory, 1}, {"always", redisstore.Disk, 100}, {"always", redisstore.Disk, 1}} {
		b.Run(fmt.Sprintf("appendfsync=%s/batch=%d", c.fsync, c.batch), func(b *testing.B) {
			r := testenv.Redis(b, "appendfsync", c.fsync)
			chain := noop(c.batch)
			e := run(b, open(b, redisstore.Options{Addresses: []string{r.Addr}, Mode: c.mode}), chain)
			before := info(b, r, "total_commands_processed")
			for b.Loop() {
				ba, err := engine.Submit(b.Context(), e, chain, people(n), weir.Spec{})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := ba.Wait(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			items := float64(n) * float64(b.N)
			b.ReportMetric(items/b.Elapsed().Seconds(), "items/s")
			b.ReportMetric((info(b, r, "total_commands_processed")-before)/items, "commands/item")
		})
	}
}

// BenchmarkPending measures the server's memory for an item that waits.
func BenchmarkPending(b *testing.B) {
	const n = 1_000_000
	r := testenv.Redis(b)
	chain := weir.Start(weir.Action[json.RawMessage, struct{}]{Name: "stuck", Handle: func(ctx context.Context, _ *weir.Batch[json.RawMessage, struct{}]) error {
		<-ctx.Done()
		return ctx.Err()
	}})
	s := open(b, redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory})
	defer s.Close()
	e, err := engine.Open(b.Context(), s, engine.Options{}) // it does not run: all stay pending
	if err != nil {
		b.Fatal(err)
	}
	if err := e.Handle(chain); err != nil {
		b.Fatal(err)
	}
	before, items := info(b, r, "used_memory"), 0.0
	for b.Loop() {
		if _, err := engine.Submit(b.Context(), e, chain, people(n), weir.Spec{}); err != nil {
			b.Fatal(err)
		}
		items += n
	}
	<-time.After(time.Second) // buffers of connections are given back
	b.ReportMetric((info(b, r, "used_memory")-before)/items, "bytes/item")
	b.ReportMetric(info(b, r, "used_memory_dataset")/items, "dataset-bytes/item")
}

// BenchmarkStart is the time from the submit of one item to its handler, on an idle system.
func BenchmarkStart(b *testing.B) {
	started := make(chan time.Time, 1)
	chain := weir.Start(weir.Action[json.RawMessage, struct{}]{Name: "start", Handle: func(_ context.Context, batch *weir.Batch[json.RawMessage, struct{}]) error {
		started <- time.Now()
		batch.DoneRest()
		return nil
	}})
	r := testenv.Redis(b)
	e := run(b, open(b, redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory}), chain)
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		ba, err := engine.Submit(b.Context(), e, chain, people(1), weir.Spec{})
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, (<-started).Sub(began))
		if _, err := ba.Wait(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkRestart is the time from opening an engine with 50,000 unfinished bulk
// actions of ten items each to its first task.
func BenchmarkRestart(b *testing.B) {
	started := make(chan time.Time, 1)
	chain := weir.Start(weir.Action[json.RawMessage, struct{}]{Name: "stuck", Handle: func(ctx context.Context, _ *weir.Batch[json.RawMessage, struct{}]) error {
		select {
		case started <- time.Now():
		default:
		}
		<-ctx.Done()
		return ctx.Err()
	}})
	r := testenv.Redis(b)
	begin := func() (*engine.Engine, func()) {
		s := open(b, redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory})
		e, err := engine.Open(b.Context(), s, engine.Options{Partitions: 8, DrainFor: time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.Fatal(err)
		}
		if err := e.Handle(chain); err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		return e, func() {
			cancel()
			if err := errors.Join(<-ended, s.Close()); err != nil {
				b.Fatal(err)
			}
		}
	}
	e, stop := begin()
	var submits errgroup.Group
	submits.SetLimit(16)
	for i := range 50_000 {
		submits.Go(func() error {
			_, err := engine.Submit(b.Context(), e, chain, people(10), weir.Spec{Tenant: fmt.Sprint("t", i%100)})
			return err
		})
	}
	if err := submits.Wait(); err != nil {
		b.Fatal(err)
	}
	stop()
	<-started
	took := time.Duration(0)
	for b.Loop() {
		began := time.Now()
		_, stop := begin()
		took += (<-started).Sub(began)
		stop()
		select {
		case <-started: // of a task that was under way
		default:
		}
	}
	b.ReportMetric(float64(took.Milliseconds())/float64(b.N), "ms-to-first-task")
}

func noop(batch int) weir.Chain[json.RawMessage, struct{}] {
	return weir.Start(weir.Action[json.RawMessage, struct{}]{
		Name: "noop", BatchSize: batch,
		Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, struct{}]) error {
			b.DoneRest()
			return nil
		},
	})
}

// info is one number of the server's INFO.
func info(t testing.TB, r *testenv.Server, name string) float64 {
	t.Helper()
	_, after, _ := strings.Cut(r.Do("INFO", "everything"), name+":")
	text, _, _ := strings.Cut(after, "\r\n")
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
