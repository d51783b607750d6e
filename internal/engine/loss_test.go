package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/store/memstore"
)

// lossy is a store that has lost work of its one partition for good, and what was in it.
type lossy struct {
	*timeMachine
	calls tally
	ended *engine.BulkAction // before the loss, and lost with it
	under *engine.BulkAction // under way when the store was set back, and left
	whole *memstore.Moment   // before the loss
}

// underKey is the idempotency key of what was under way.
const underKey = "under way"

// loseWork has a node run for half a minute, and sets the store back to a moment that it does not remember.
func loseWork(t *testing.T) *lossy {
	t.Helper()
	l := &lossy{timeMachine: newTimeMachine()}
	r := start(t, l.timeMachine, one, action(paced(&l.calls)))
	long := spec(paced(&l.calls))
	long.IdempotencyKey = underKey
	l.under = submit(t, r, long, numbers(5000))
	time.Sleep(3 * time.Second)
	moment := l.Save()
	quick := spec(paced(&l.calls))
	quick.Tenant, quick.Priority = "quick", 9
	l.ended = submit(t, r, quick, numbers(20))
	wait(t, l.ended)
	time.Sleep(30 * time.Second)
	synctest.Wait() // else a commit may come between the two
	whole := l.Save()
	l.Restore(moment)
	time.Sleep(5 * time.Second)
	wantLoss(t, r)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	l.whole = whole
	return l
}

func wantLoss(t *testing.T, r *rig) {
	t.Helper()
	var loss *weir.LossError
	if err := r.Health(); !errors.As(err, &loss) || loss.Partition != 0 {
		t.Fatalf("Health() = %v, want a *LossError of partition 0", err)
	}
}

func TestALossIsRememberedByTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := loseWork(t)
		ran := l.calls.sum()
		a := start(t, l.timeMachine, one, action(paced(&l.calls)))
		b := start(t, l.timeMachine, one, action(paced(&l.calls)))
		time.Sleep(2 * time.Minute)
		wantLoss(t, a)
		wantLoss(t, b)
		if again := l.calls.sum(); again != ran {
			t.Errorf("%d items were run after a restart that did not accept the loss", again-ran)
		}
		var lost *weir.LostError
		if _, err := a.Get(t.Context(), l.ended.ID()); !errors.As(err, &lost) || !lost.Loss.Accepted.IsZero() || !errors.Is(err, weir.ErrNotFound) {
			t.Errorf("Get() of what was lost = %v, want a *LostError of a stopped partition", err)
		}
		if x, err := b.Get(t.Context(), l.under.ID()); err != nil || len(x.Losses()) != 1 {
			t.Errorf("Get() of what was left = %v, %v; want one loss", x, err)
		}
	})
}

func TestALossThatIsAcceptedIsInTheReportsConcerned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := loseWork(t)
		a := start(t, l.timeMachine, one, action(paced(&l.calls)))
		time.Sleep(5 * time.Second)
		wantLoss(t, a)
		o := one
		o.AcceptLoss = true
		b := start(t, l.timeMachine, o, action(paced(&l.calls)))
		time.Sleep(2 * time.Minute)
		if err := errors.Join(a.Health(), b.Health()); err != nil {
			t.Errorf("Health() = %v after the loss was accepted", err)
		}
		if err := b.stop(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		after := submit(t, a, spec(paced(&l.calls)), numbers(10))
		for _, tt := range []struct {
			name string
			id   weir.BulkID
			want int
		}{{"what was under way", l.under.ID(), 1}, {"what came after", after.ID(), 0}} {
			x, err := a.Get(t.Context(), tt.id)
			if err != nil {
				t.Fatal(err)
			}
			rep := wait(t, x)
			wantCounts(t, rep, int(x.Items()), 0, 0)
			if got := rep.Summary.Losses; len(got) != tt.want || tt.want > 0 && (got[0].AcceptedAt == nil || got[0].Have >= got[0].Acked) {
				t.Errorf("the report of %s has losses %+v, want %d that were accepted", tt.name, got, tt.want)
			}
		}
		var lost *weir.LostError
		if _, err := a.Get(context.Background(), l.ended.ID()); !errors.As(err, &lost) || lost.Loss.Accepted.IsZero() {
			t.Errorf("Get() of what was lost = %v, want a *LostError of a loss that was accepted", err)
		}
	})
}

func TestAStoreThatIsRestoredWholeGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := loseWork(t)
		r := start(t, l.timeMachine, one, action(paced(&l.calls)))
		time.Sleep(5 * time.Second)
		wantLoss(t, r)
		l.Restore(l.whole)
		time.Sleep(5 * time.Second)
		if err := r.Health(); err != nil {
			t.Errorf("Health() = %v on a store that has everything again", err)
		}
		x, err := r.Get(t.Context(), l.ended.ID())
		if err != nil || len(x.Losses()) != 0 {
			t.Errorf("Get() of what was lost and is back = %v, want it without losses", err)
		}
		time.Sleep(time.Minute)
		wantCounts(t, wait(t, l.under), 5000, 0, 0)
	})
}
