package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store"
)

// stopPartitions writes the map of partitions of a store that has lost work of some of them.
func stopPartitions(t *testing.T, s store.Registry, partitions int, stopped ...int) {
	t.Helper()
	var losses []map[string]any
	for _, p := range stopped {
		losses = append(losses, map[string]any{"partition": p, "have": 3, "acked": 9, "found": time.Now().UnixNano()})
	}
	raw, err := json.Marshal(map[string]any{"format": 4, "generation": 1, "partitions": partitions, "most": partitions, "losses": losses})
	if err == nil {
		_, err = s.Swap(t.Context(), "map", nil, raw)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// New bulk actions of all tenants go to the partitions that run, and end there.
func TestNewWorkGoesToPartitionsThatRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls tally
		s := newTimeMachine()
		stopPartitions(t, s, 4, 0, 1, 3)
		r := start(t, s, engine.Options{Partitions: 4, LeaseFor: 3 * time.Second}, action(paced(&calls)))
		for i := range 40 {
			x := spec(paced(&calls))
			x.Tenant = fmt.Sprint("tenant ", i)
			wantCounts(t, wait(t, submit(t, r, x, numbers(1))), 1, 0, 0)
		}
		for i := range 40 {
			x := spec(paced(&calls))
			x.IdempotencyKey = fmt.Sprint("key ", i)
			wantStopped(t, r, x)
		}
	})
}

// wantStopped submits what must be refused.
func wantStopped(t *testing.T, r *rig, x job[int]) {
	t.Helper()
	var loss *weir.LossError
	if b, err := attempt(t.Context(), r.Engine, x, engine.Items(numbers(1))); !errors.As(err, &loss) {
		t.Errorf("Submit() with key %q = %v, %v; want a *LossError", x.IdempotencyKey, b, err)
	}
}

// While the only partition is stopped nothing is accepted. A key that the store has finds its bulk action all the same.
func TestAStoppedPartitionTakesNoWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := loseWork(t)
		r := start(t, l.timeMachine, one, action(paced(&l.calls)))
		time.Sleep(5 * time.Second)
		wantLoss(t, r)
		plain, known := spec(paced(&l.calls)), spec(paced(&l.calls))
		wantStopped(t, r, plain)
		if _, err := r.Intake().NewID(t.Context(), "acme"); !errors.As(err, new(*weir.LossError)) {
			t.Errorf("NewID() = %v, want a *LossError", err)
		}
		plain.IdempotencyKey, known.IdempotencyKey = "another", underKey
		wantStopped(t, r, plain)
		if b := submit(t, r, known, numbers(5000)); b.ID() != l.under.ID() {
			t.Errorf("the key of %s made %s", l.under.ID(), b.ID())
		}
		if _, err := l.under.RetryFailed(t.Context()); err == nil {
			t.Error("RetryFailed() in a stopped partition was accepted")
		}
	})
}
