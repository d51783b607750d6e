package schedule

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/store/memstore"
	"github.com/weirhq/weir/store/storetest"
)

var seeds = flag.Int("schedule.seeds", 4, "how many random stories of crashes to live through")

// stories is the seeds of the random stories.
func stories() []uint64 {
	n := *seeds
	if testing.Short() {
		n = (n + 1) / 2
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = uint64(i)
	}
	return out
}

var errFault = errors.New("fault")

// chance is random numbers for several goroutines.
type chance struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func (c *chance) below(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.IntN(n)
}

// oneIn is true once in n times on average, never for 0.
func (c *chance) oneIn(n int) bool { return n > 0 && c.below(n) == 0 }

// trouble is how often things go wrong: once in so many calls.
type trouble struct {
	mu            sync.Mutex
	chance        *chance
	before, lost  int // of the store
	fault, forget int // of Create: it fails; it works but says it did not
}

func (tr *trouble) storeFault(storetest.Call) storetest.Fault {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	f := storetest.Fault{Delay: time.Duration(tr.chance.below(3)) * time.Millisecond, Lost: tr.chance.oneIn(tr.lost)}
	if tr.chance.oneIn(tr.before) {
		f.Before = errFault
	}
	return f
}

func (tr *trouble) createFault(int) error { return tr.maybe(&tr.fault) }
func (tr *trouble) createLost(int) error  { return tr.maybe(&tr.forget) }

func (tr *trouble) maybe(oneIn *int) error {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if tr.chance.oneIn(*oneIn) {
		return errFault
	}
	return nil
}

// over ends all trouble.
func (tr *trouble) over() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.before, tr.lost, tr.fault, tr.forget = 0, 0, 0, 0
}

// crashing runs a keeper that is killed and started again at random moments, until the context ends.
func crashing(ctx context.Context, c *chance, k *Keeper, most time.Duration) {
	for ctx.Err() == nil {
		life, cancel := context.WithTimeout(ctx, time.Duration(c.below(int(most)))+time.Millisecond)
		_ = k.Run(life)
		cancel()
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(c.below(int(most / 4)))):
		}
	}
}

// liveThrough has two keepers crash and fail their way through troubled hours, and then run in peace.
func liveThrough(t *testing.T, seed uint64, spec Spec, lasts time.Duration, troubled float64) (*world, *Schedule) {
	t.Helper()
	c := &chance{rng: rand.New(rand.NewPCG(seed, 7))}
	tr := &trouble{chance: c, before: 20, lost: 20, fault: 6, forget: 6}
	w := newWorld()
	w.lasts, w.slow = lasts, time.Duration(c.below(2000))*time.Millisecond
	w.set(moment(t, "2026-10-24T22:58:00Z"))
	st := memstore.New(memstore.Options{})
	s := create(t, w.keeper(st), spec)
	w.fault, w.lost = tr.createFault, tr.createLost
	flaky := &storetest.Flaky{Store: st, Fail: tr.storeFault}
	ctx, cancel := context.WithCancel(t.Context())
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { crashing(ctx, c, w.keeper(flaky), 4*time.Minute) })
	}
	hours(troubled)
	cancel()
	both.Wait()
	tr.over()
	run(t, w.keeper(st))
	minutes(31)
	return w, get(t, w.keeper(st), s.ID)
}

func TestOneBulkActionPerSlotWhateverCrashes(t *testing.T) {
	for _, seed := range stories() {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spec := Spec{Cron: "*/5 * * * *", Zone: "Europe/Berlin", Overlap: Allow, CatchUp: CatchUp{Window: 3 * time.Hour, All: true}}
				w, s := liveThrough(t, seed, spec, 0, 2)
				slots := Slots(rule(t, spec.Cron, spec.Zone), s.CreatedAt, w.now(), 1000)
				if len(slots) < 30 {
					t.Fatalf("%d slots, want some", len(slots))
				}
				var want, got []string
				for _, at := range slots {
					want = append(want, Key(s.ID, at))
				}
				for _, m := range w.made {
					got = append(got, m.key)
				}
				if !slices.Equal(got, want) {
					t.Errorf("made %q\nwant %q", got, want)
				}
				checkHistory(t, w, s)
			})
		})
	}
}

// checkHistory wants the history to tell what has happened, each slot once.
func checkHistory(t *testing.T, w *world, s *Schedule) {
	t.Helper()
	n := 0
	for i, f := range s.History {
		if i > 0 && !f.Slot.Before(s.History[i-1].Slot) {
			t.Errorf("%v comes after %v in the history", f.Slot, s.History[i-1].Slot)
		}
		made := slices.IndexFunc(w.made, func(m made) bool { return m.key == Key(s.ID, f.Slot) })
		switch {
		case f.Result == Fired && (made < 0 || w.made[made].id != f.BulkID):
			t.Errorf("the history has %+v, which was not made", f)
		case f.Result != Fired && made >= 0:
			t.Errorf("the history has %+v, but it was made", f)
		case f.Result == Fired:
			n++
		}
	}
	if n != len(w.made) || s.Firing != nil || w.counts[Fired] > n {
		t.Errorf("%d fired in the history, %d made, %d counted, still firing %+v", n, len(w.made), w.counts[Fired], s.Firing)
	}
}

func TestNoTwoRunAtOnceWhateverCrashes(t *testing.T) {
	for _, seed := range stories() {
		for _, overlap := range []Overlap{Skip, Queue} {
			t.Run(fmt.Sprint(overlap, " seed ", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					spec := Spec{Cron: "*/10 * * * *", Zone: "Europe/Berlin", Overlap: overlap}
					w, s := liveThrough(t, seed, spec, 12*time.Minute, 1)
					if w.overlap > 0 || len(w.made) < 3 {
						t.Errorf("%d of %d were made while the one before ran", w.overlap, len(w.made))
					}
					checkHistory(t, w, s)
				})
			})
		}
	}
}
