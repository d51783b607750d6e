package redisstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/testkit/testenv"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/redisstore"
)

// run starts an engine with a chain on a store; both end with the test.
func run[Out any](t testing.TB, s store.Store, c weir.Chain[json.RawMessage, Out]) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), s, engine.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Handle(c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run() = %v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return e
}

// people yields n items of about 100 bytes with their ids, no two alike. It is
// quick, or a benchmark would measure it.
func people(n int) iter.Seq2[weir.RawItem, error] {
	return func(yield func(weir.RawItem, error) bool) {
		for i := range n {
			x := mix(uint64(i + 1))
			doc := append(make([]byte, 0, 112), `{"email":"`...)
			doc = append(letters(doc, x, 10), `@example.com","coupon":"`...)
			doc = append(letters(doc, mix(x), 12), `","amount":`...)
			doc = append(strconv.AppendUint(doc, x%100_000, 10), `,"lang":"en"}`...)
			if !yield(weir.RawItem{ID: "user-" + strconv.Itoa(i), Value: doc}, nil) {
				return
			}
		}
	}
}

// letters appends n letters and digits of five bits each.
func letters(b []byte, x uint64, n int) []byte {
	for range n {
		b = append(b, "abcdefghijklmnopqrstuvwxyz234567"[x&31])
		x >>= 5
	}
	return b
}

// mix spreads a number over all bits, so that what is made of it does not pack well.
func mix(x uint64) uint64 {
	x *= 0x9E3779B97F4A7C15
	x ^= x >> 31
	x *= 0xBF58476D1CE4E5B9
	return x ^ x>>29
}

// TestABulkActionRunsOnRedis has two steps: the second gets what the first gave out, so commits carry results.
func TestABulkActionRunsOnRedis(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 10_000
	}
	var awards, messages atomic.Int64
	award := weir.Action[json.RawMessage, int]{Name: "award", BatchSize: 100, Handle: func(_ context.Context, b *weir.Batch[json.RawMessage, int]) error {
		for i := range b.Items() {
			awards.Add(1)
			b.Done(i, i)
		}
		return nil
	}}
	message := weir.Action[int, string]{Name: "message", BatchSize: 100, Handle: func(_ context.Context, b *weir.Batch[int, string]) error {
		for i, it := range b.Items() {
			messages.Add(1)
			b.Done(i, fmt.Sprint("sent ", it.Value))
		}
		return nil
	}}
	chain := weir.Then(weir.Start(award), message, func(_ weir.Item[json.RawMessage], n int) int { return n })
	r := testenv.Redis(t)
	e := run(t, open(t, redisstore.Options{Addresses: []string{r.Addr}, Mode: redisstore.Memory}), chain)
	b, err := engine.Submit(t.Context(), e, chain, people(n), weir.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	rep, err := b.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if rep.Counts.Done != int64(n) || awards.Load() != int64(n) || messages.Load() != int64(n) {
		t.Errorf("done %d, awards %d, messages %d; want %d of each", rep.Counts.Done, awards.Load(), messages.Load(), n)
	}
}
