package engine_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
)

// moody is a downstream that bears everything and refuses some calls by chance.
type moody struct {
	refuses float64 // share of the calls
	after   time.Duration

	mu    sync.Mutex
	rng   *rand.Rand
	calls int
	no    int // calls that were refused
}

func (d *moody) refused() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	if d.rng.Float64() >= d.refuses {
		return false
	}
	d.no++
	return true
}

func (d *moody) handle(_ context.Context, b *weir.Batch[int, string]) error {
	time.Sleep(20 * time.Millisecond)
	if d.refused() {
		return &weir.RefusedError{After: d.after, Err: errors.New("not now")}
	}
	b.DoneRest()
	return nil
}

// lasts is how long a run of 60,000 items takes, in tasks of one item on 16 slots.
func (d *moody) lasts(t *testing.T) (took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d.rng = rand.New(rand.NewPCG(7, 15))
		a := weir.Action[int, string]{Name: "call", BatchSize: 1, Handle: d.handle}
		r := start(t, memory(), engine.Options{Partitions: 2, Slots: 16}, action(a))
		begin := time.Now()
		b := submit(t, r, spec(a), numbers(60_000))
		rep, err := b.Wait(t.Context())
		if err != nil || rep.Counts.Done != b.Items() {
			t.Fatalf("%d of %d done, %v", rep.Counts.Done, b.Items(), err)
		}
		took = time.Since(begin)
	})
	t.Logf("%.1f %% of calls refused, to come back after %v: %v, %d of %d calls", 100*d.refuses, d.after, took, d.no, d.calls)
	return took
}

// Refusals that have nothing to do with the rate hardly slow a run down, whether
// they say when to come back or not: by a tenth, with luck less, and never by what a
// limit would (E14 has the figures over many seeds).
func TestRefusalsAtRandomDoNotThrottle(t *testing.T) {
	calm := (&moody{}).lasts(t)
	for _, after := range []time.Duration{0, 100 * time.Millisecond} {
		if got := (&moody{refuses: 0.015, after: after}).lasts(t); got > calm*125/100 {
			t.Errorf("1.5 %% of calls refused, to come back after %v: the run takes %v, and %v without; want 1.25 of it at most", after, got, calm)
		}
	}
}
