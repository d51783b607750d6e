package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

// BenchmarkSubmit is what an item of a hundred bytes costs until it is accepted, on the embedded store.
func BenchmarkSubmit(b *testing.B) {
	const n = 500_000
	a := weir.Action[json.RawMessage, string]{Name: "award", Handle: func(context.Context, *weir.Batch[json.RawMessage, string]) error { return nil }}
	r := open(b, disk(b, b.TempDir()), engine.Options{}, action(a))
	items := func(yield func(weir.RawItem, error) bool) {
		var doc []byte
		for i := range n {
			doc = fmt.Appendf(doc[:0], `{"email":"%08x@example.com","coupon":"%012x","amount":%d,"lang":"en"}`, uint32(i)*2654435761, uint64(i)*11400714819323198485>>16, i%1000)
			if !yield(weir.RawItem{ID: fmt.Sprintf("user-%d", i), Value: doc}, nil) {
				return
			}
		}
	}
	for b.Loop() {
		if _, err := attempt(b.Context(), r.Engine, spec(a), items); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/item")
}

// BenchmarkLookup finds an id that is in 3 of 100 bulk actions of 100,000 items each, on the embedded store.
func BenchmarkLookup(b *testing.B) {
	const bulks, n = 100, 100_000
	r := open(b, disk(b, b.TempDir()), engine.Options{}, action(noop("award")))
	for k := range bulks {
		items := func(yield func(weir.Item[int], error) bool) {
			for i := range n {
				id := fmt.Sprintf("user-%d-%d", k, i)
				if i == n/3 && k%33 == 1 {
					id = "user 42"
				}
				if !yield(weir.Item[int]{ID: id, Value: i}, nil) {
					return
				}
			}
		}
		if _, err := attempt(b.Context(), r.Engine, spec(noop("award")), items); err != nil {
			b.Fatal(err)
		}
	}
	r.run(b)
	for bulk, err := range waitRead(b, r, bulks) {
		if err != nil {
			b.Fatal(err)
		}
		if _, err := bulk.Wait(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		found := 0
		for f, err := range r.Lookup(b.Context(), "user 42", engine.LookupOptions{}) {
			if err != nil || f.Row.ID != "user 42" {
				b.Fatal(f, err)
			}
			found++
		}
		if found != 3 {
			b.Fatalf("found %d times, want 3", found)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/lookup")
}

// waitRead waits until all bulk actions are listed.
func waitRead(b *testing.B, r *rig, want int) iter.Seq2[*engine.BulkAction, error] {
	for {
		n := 0
		for range r.List(b.Context()) {
			n++
		}
		if n == want {
			return r.List(b.Context())
		}
	}
}
