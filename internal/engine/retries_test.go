package engine_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/report"
)

// rewards is an action that notes every success by item and key, and fails as long as broken says so.
type rewards struct {
	mu     sync.Mutex
	broken func(n int) bool
	given  map[string][]string // by item: the key of each success
	keys   map[string]map[string]bool
	gate   chan struct{} // nil: open
}

func (r *rewards) action() weir.Action[int, string] {
	r.given, r.keys = map[string][]string{}, map[string]map[string]bool{}
	return each("award", func(b *weir.Batch[int, string], i int, it weir.Item[int]) {
		if r.gate != nil {
			<-r.gate
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.keys[it.ID] == nil {
			r.keys[it.ID] = map[string]bool{}
		}
		r.keys[it.ID][b.Key(i)] = true
		if r.broken(it.Value) {
			b.Fail(i, "closed", errors.New("closed"))
			return
		}
		r.given[it.ID] = append(r.given[it.ID], b.Key(i))
		b.Done(i, "ok")
	})
}

// wantOnce fails the test unless every item was given its reward once, under one key.
func (r *rewards) wantOnce(t *testing.T, n int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.given) != n {
		t.Errorf("%d items have a reward, want %d", len(r.given), n)
	}
	for id, keys := range r.given {
		if len(keys) != 1 || len(r.keys[id]) != 1 {
			t.Fatalf("item %s has %d rewards under %d keys, want one under one", id, len(keys), len(r.keys[id]))
		}
	}
}

func TestASecondRetryLeavesAloneWhatTheFirstTook(t *testing.T) {
	r := &rewards{broken: func(n int) bool { return n%3 == 0 }}
	a := r.action()
	eng := start(t, memory(), engine.Options{}, action(a))
	b := submit(t, eng, spec(a), numbers(3000))
	wantCounts(t, wait(t, b), 2000, 1000, 0)

	r.broken, r.gate = func(n int) bool { return n%30 == 0 }, make(chan struct{})
	first, err := b.RetryFailed(t.Context())
	must(t, err)
	wantRetriedBefore(t, b, first[0]) // while the first runs
	close(r.gate)
	wantCounts(t, wait(t, first[0]), 900, 100, 0)
	wantRetriedBefore(t, b, first[0]) // after its end

	r.broken = func(int) bool { return false }
	second, err := first[0].RetryFailed(t.Context())
	must(t, err)
	wantCounts(t, wait(t, second[0]), 100, 0, 0)
	if _, err := first[0].RetryFailed(t.Context()); err == nil {
		t.Error("a second retry of the retry was accepted")
	}
	r.wantOnce(t, 3000)
	if made, err := b.Retries(t.Context()); err != nil || len(made) != 1 || made[0].ID() != first[0].ID() {
		t.Errorf("retries %v, %v; want %s alone", made, err, first[0].ID())
	}
}

func wantRetriedBefore(t *testing.T, b, by *engine.BulkAction) {
	t.Helper()
	var none *weir.FieldError
	_, err := b.RetryFailed(t.Context())
	if !errors.As(err, &none) || none.Code != "no_items" || !strings.Contains(err.Error(), string(by.ID())) {
		t.Errorf("second retry: %v, want a refusal that names %s", err, by.ID())
	}
}

func TestARetryWithNewKeysTakesItemsOnce(t *testing.T) {
	r := &rewards{broken: func(n int) bool { return n < 20 }}
	a := r.action()
	b := submit(t, start(t, memory(), engine.Options{}, action(a)), spec(a), numbers(100))
	wait(t, b)
	r.broken = func(int) bool { return false }
	for _, half := range []int64{10, 20} { // the second takes what the first has left
		made, err := b.Retry(t.Context(), engine.RetryOptions{NewKeys: true, Match: func(x *report.Row) bool { return x.No < half }})
		must(t, err)
		wantCounts(t, wait(t, made[0]), 10, 0, 0)
	}
	if _, err := b.Retry(t.Context(), engine.RetryOptions{NewKeys: true}); err == nil {
		t.Error("a third retry was accepted")
	}
	for _, id := range []string{id(0), id(19)} {
		if len(r.given[id]) != 1 || len(r.keys[id]) != 2 {
			t.Errorf("item %s has %d rewards under %d keys, want one and two", id, len(r.given[id]), len(r.keys[id]))
		}
	}
}

func TestRetriesAtTheSameTimeTakeEachItemOnce(t *testing.T) {
	r := &rewards{broken: func(int) bool { return true }}
	a := r.action()
	b := submit(t, start(t, memory(), engine.Options{}, action(a)), spec(a), numbers(2500))
	wait(t, b)
	r.broken = func(int) bool { return false }
	var items atomic.Int64
	var mu sync.Mutex
	var made []*engine.BulkAction
	var all sync.WaitGroup
	for k := range int64(8) { // those from 6 on want everything
		all.Go(func() {
			list, err := b.Retry(t.Context(), engine.RetryOptions{Match: func(x *report.Row) bool { return k > 5 || x.No%5 == k%5 }})
			var none *weir.FieldError
			if err != nil && !errors.As(err, &none) {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, x := range list {
				if !slices.ContainsFunc(made, func(y *engine.BulkAction) bool { return y.ID() == x.ID() }) {
					made = append(made, x)
					items.Add(x.Items())
				}
			}
		})
	}
	all.Wait()
	for _, x := range made {
		wait(t, x)
	}
	if items.Load() != 2500 {
		t.Errorf("%d retries have %d items, want 2500", len(made), items.Load())
	}
	r.wantOnce(t, 2500)
}
