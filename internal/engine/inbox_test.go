package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store"
	"github.com/weirhq/weir/store/storetest"
)

func failOn(op storetest.Op, f storetest.Fault) (s *storetest.Flaky, on *atomic.Bool) {
	on = &atomic.Bool{}
	return &storetest.Flaky{Store: memory(), Fail: func(c storetest.Call) storetest.Fault {
		if c.Op == op && on.Load() {
			return f
		}
		return storetest.Fault{}
	}}, on
}

type sluggish struct{ store.Store }

func (s sluggish) Read(ctx context.Context, partition int, after uint64, limit int) ([]store.Message, error) {
	select {
	case <-time.After(100 * time.Millisecond):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.Store.Read(ctx, partition, after, limit)
}

func TestASlowInboxIsNotTakenForAnEmptyOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := noop("step"), sluggish{memory()}
		kept := submit(t, open(t, s, engine.Options{}, action(a)), spec(a), numbers(manyItems))
		r := open(t, s, engine.Options{}, action(a)) // a later process
		if _, err := r.Get(t.Context(), kept.ID()); err != nil {
			t.Errorf("Get before the owner has read it: %v", err)
		}
		r.run(t)
		time.Sleep(time.Minute)
		wantBlocks(t, s, 1)
		b, err := r.Get(t.Context(), kept.ID())
		if err != nil {
			t.Fatal(err)
		}
		wantCounts(t, wait(t, b), manyItems, 0, 0)
	})
}

// late delays messages to the owner by 100 ms, and others' looks at the inbox by 300 ms: enough for the
// owner to handle the message in between.
type late struct{ store.Store }

func (s late) Read(ctx context.Context, partition int, after uint64, limit int) ([]store.Message, error) {
	found, err := s.Store.Read(ctx, partition, after, limit)
	time.Sleep(100 * time.Millisecond)
	return found, err
}

func (s late) Peek(ctx context.Context, partition int, after uint64, limit int) ([]store.Message, error) {
	time.Sleep(300 * time.Millisecond)
	return s.Store.Peek(ctx, partition, after, limit)
}

// A bulk action that its owner reads while it is being looked for, between the
// look at the state and that at the inbox, is found at once.
func TestGetDoesNotWaitAtTheEndOfTheInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := noop("step")
		r := start(t, late{memory()}, engine.Options{}, action(a))
		time.Sleep(time.Second) // the owner waits for messages
		b := submit(t, r, spec(a), numbers(10))
		began := time.Now()
		if _, err := r.Get(t.Context(), b.ID()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 300*time.Millisecond {
			t.Errorf("Get took %v, want no more than the store's 300ms", took)
		}
	})
}

func TestADamagedInboxStopsTheEngineOpenly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, damaged := failOn(storetest.OpRead, storetest.Fault{Before: store.ErrCorrupt})
		damaged.Store(true)
		r := start(t, s, engine.Options{}, action(noop("step")))
		time.Sleep(time.Minute)
		select {
		case err := <-r.ended:
			if !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("Run = %v, want ErrCorrupt", err)
			}
		default:
			t.Error("Run goes on, and nobody will hear of new work")
		}
	})
}

func TestAnItemWriteOfUnknownOutcomeRefusesTheSubmit(t *testing.T) {
	s, on := failOn(storetest.OpPutBlocks, storetest.Fault{Lost: true})
	on.Store(true)
	a := noop("step")
	_, err := attempt(t.Context(), open(t, s, engine.Options{}, action(a)).Engine, spec(a), engine.Items(numbers(manyItems)))
	if err == nil || strings.Contains(err.Error(), "may have been accepted") {
		t.Errorf("error = %v, want one that does not say it may have been accepted", err)
	}
	wantBlocks(t, s, 0)
}

func TestASubmitStopsReadingWhenItsItemsCannotBeWritten(t *testing.T) {
	s, on := failOn(storetest.OpPutBlocks, storetest.Fault{Before: errStore})
	on.Store(true)
	a := noop("step")
	read := 0
	_, err := attempt(t.Context(), open(t, s, engine.Options{}, action(a)).Engine, spec(a), func(yield func(weir.Item[int], error) bool) {
		for yield(weir.Item[int]{ID: id(read), Value: read}, nil) {
			read++
		}
	})
	if !errors.Is(err, errStore) || read > 1_000_000 {
		t.Errorf("error = %v after %d items, want the store's after a few blocks", err, read)
	}
}
