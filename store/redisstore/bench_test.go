package redisstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/engine"
	"github.com/weirhq/weir/internal/testenv"
	"github.com/weirhq/weir/store/redisstore"
)

// BenchmarkBulkAction is a million items through a handler that does nothing,
// from submit to the last result, on a server that logs every second.
func BenchmarkBulkAction(b *testing.B) {
	const n = 1_000_000
	for _, batch := range []int{100, 1} {
		b.Run(fmt.Sprint("batch=", batch), func(b *testing.B) {
			r := testenv.Redis(b)
			chain := noop(batch)
			e := run(b, open(b, redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory}), chain)
			before := info(b, r, "total_commands_processed")
			for b.Loop() {
				ba, err := engine.Submit(b.Context(), e, weir.Spec[json.RawMessage, struct{}]{Chain: chain}, people(n))
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

// BenchmarkPending is what an item takes in the server's memory while it waits.
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
	if err := engine.HandleChain(e, chain); err != nil {
		b.Fatal(err)
	}
	before, items := info(b, r, "used_memory"), 0.0
	for b.Loop() {
		if _, err := engine.Submit(b.Context(), e, weir.Spec[json.RawMessage, struct{}]{Chain: chain}, people(n)); err != nil {
			b.Fatal(err)
		}
		items += n
	}
	<-time.After(time.Second) // buffers of connections are given back
	b.ReportMetric((info(b, r, "used_memory")-before)/items, "bytes/item")
	b.ReportMetric(info(b, r, "used_memory_dataset")/items, "dataset-bytes/item")
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
