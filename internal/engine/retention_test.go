package engine_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store"
)

// keptFor is short: each minute of an engine that runs costs the tests some time.
const keptFor = 4 * time.Minute

const day = 24 * time.Hour

// left lists the kinds of rows that a store has of a bulk action, over all partitions, and whether it has blocks.
func left(t *testing.T, s store.Store, partitions int, id weir.BulkID) string {
	t.Helper()
	kinds := map[byte]bool{}
	for p := range partitions {
		err := s.Scan(t.Context(), p, nil, func(key, _ []byte) error {
			if strings.Contains(string(key), string(id)) {
				kinds[key[0]] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		owners, err := s.BlockOwners(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(owners, func(name weir.BulkID) bool { return strings.HasSuffix(string(name), string(id)) }) {
			kinds['B'] = true
		}
	}
	return string(slices.Sorted(maps.Keys(kinds)))
}

// wantExpired checks what is said of a bulk action that was removed.
func wantExpired(t *testing.T, r *rig, b *engine.BulkAction, ended time.Time) {
	t.Helper()
	_, got := r.Get(t.Context(), b.ID())
	var e *weir.ExpiredError
	if !errors.Is(got, weir.ErrExpired) || !errors.As(got, &e) || e.ID != b.ID() || !e.Ended.Equal(ended) || !e.Removed.After(ended.Add(keptFor)) {
		t.Errorf("Get = %v; want that it ended at %v and was removed when its time was over", got, ended)
	}
	for name, ask := range map[string]func() error{
		"Now":         func() error { _, err := b.Now(t.Context()); return err },
		"Report":      func() error { _, err := b.Report(t.Context()); return err },
		"Item":        func() error { _, err := b.Item(t.Context(), 0); return err },
		"ItemByID":    func() error { _, err := b.ItemByID(t.Context(), id(0)); return err },
		"ErrorGroups": func() error { _, err := b.ErrorGroups(t.Context()); return err },
		"Cancel":      func() error { return b.Cancel(t.Context(), "") },
	} {
		if err := ask(); !errors.Is(err, weir.ErrExpired) {
			t.Errorf("%s = %v, want ErrExpired", name, err)
		}
	}
	for f, err := range r.Lookup(t.Context(), id(0), engine.LookupOptions{}) {
		if f.Bulk == b.ID() || err != nil {
			t.Errorf("Lookup finds %+v, %v", f, err)
		}
	}
	for x, err := range r.List(t.Context()) {
		if err != nil || x.ID() == b.ID() {
			t.Errorf("List yields %v, %v", x, err)
		}
	}
}

func TestABulkActionIsRemovedWhenItWasKeptForItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory()
		r := start(t, s, engine.Options{KeepFor: keptFor}, action(faulty()))
		keyed := spec(faulty())
		keyed.IdempotencyKey = "spring"
		b := submit(t, r, keyed, numbers(5000))
		wait(t, b)
		p, err := b.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(keptFor / 2)
		later := submit(t, r, spec(faulty()), numbers(5000))
		wait(t, later)
		if got := left(t, s, 2, b.ID()); !strings.Contains(got, "B") {
			t.Fatalf("after half its time rows of kinds %q are there", got)
		}
		wait(t, b)
		time.Sleep(keptFor/2 + 90*time.Second)
		if got := left(t, s, 2, b.ID()); got != "x" {
			t.Errorf("rows of kinds %q are left, want a tombstone alone", got)
		}
		wantExpired(t, r, b, p.Finished)
		if _, err := attempt(t.Context(), r.Engine, keyed, engine.Items(numbers(5000))); !errors.Is(err, weir.ErrExpired) {
			t.Errorf("the same submit once more = %v, want ErrExpired: its key was used", err)
		}
		wantCounts(t, wait(t, later), 3500, 1500, 0) // is not touched
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(91 * day)
		r = start(t, s, engine.Options{KeepFor: keptFor}, action(faulty()))
		time.Sleep(2 * time.Minute)
		if _, err := r.Get(t.Context(), b.ID()); !errors.Is(err, weir.ErrNotFound) {
			t.Errorf("Get after 90 more days = %v, want ErrNotFound", err)
		}
		if got := left(t, s, 2, b.ID()); got != "" {
			t.Errorf("rows of kinds %q are left after 90 more days", got)
		}
	})
}

// sticky is a store that does not remove blocks.
type sticky struct {
	store.Store
	tries atomic.Int64
}

func (s *sticky) DeleteBlocks(context.Context, int, weir.BulkID) error {
	s.tries.Add(1)
	return store.ErrUnavailable
}

func TestARemovalThatWasCutShortIsFinishedByTheNextOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory()
		s := &sticky{Store: mem}
		r := start(t, s, engine.Options{KeepFor: keptFor}, action(faulty()))
		b := submit(t, r, spec(faulty()), numbers(5000))
		wait(t, b)
		p, err := b.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(keptFor + 4*time.Minute)
		if got, n := left(t, mem, 2, b.ID()), s.tries.Load(); got != "Bxy" || n < 3 {
			t.Errorf("rows of kinds %q are left after %d tries, want blocks, a tombstone and that it is being removed", got, n)
		}
		wantExpired(t, r, b, p.Finished) // all the same
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		again := start(t, mem, engine.Options{KeepFor: keptFor}, action(faulty()))
		time.Sleep(2 * time.Minute)
		if got := left(t, mem, 2, b.ID()); got != "x" {
			t.Errorf("rows of kinds %q are left, want a tombstone alone", got)
		}
		wantExpired(t, again, b, p.Finished)
	})
}

func TestWhatRunsOrIsKeptForEverIsNotRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, keep := range []time.Duration{-1, keptFor} {
			a := slow("slow", time.Second)
			r := start(t, memory(), engine.Options{KeepFor: keep}, action(a))
			ended := submit(t, r, spec(a), numbers(10))
			wait(t, ended)
			paused := submit(t, r, spec(a), numbers(2000))
			do(t, paused.Pause)
			time.Sleep(3 * keptFor)
			if _, err := r.Get(t.Context(), ended.ID()); (err == nil) != (keep < 0) {
				t.Errorf("kept for %v: after three times as long %v", keep, err)
			}
			do(t, paused.Resume)
			wantCounts(t, wait(t, paused), 2000, 0, 0)
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestKeepForHasBounds(t *testing.T) {
	for keep, ok := range map[time.Duration]bool{0: true, -1: true, time.Minute: true, time.Second: false, 200 * 365 * day: false} {
		_, err := engine.Open(t.Context(), memory(), engine.Options{KeepFor: keep})
		if (err == nil) != ok || !ok && !strings.Contains(err.Error(), "KeepFor") {
			t.Errorf("Open with %v = %v, want it taken: %t", keep, err, ok)
		}
	}
}
