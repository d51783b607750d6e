package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store/memstore"
)

// hours lets fake time pass.
func hours(n float64) { minutes(60 * n) }

func minutes(n float64) {
	time.Sleep(time.Duration(n * float64(time.Minute)))
	synctest.Wait()
}

func TestSlotsAreFiredOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, k, s := startOne(t, "2026-01-10T11:30:00Z", Spec{Cron: "0 * * * *"})
		hours(3)
		w.wantSlots(t, "12:00", "13:00", "14:00")
		if worst := slices.Max(w.lags); worst > time.Millisecond || len(w.lags) != 3 {
			t.Errorf("lags %v, want three of nothing", w.lags)
		}
		got := get(t, k, s.ID)
		if want := []string{"12:00 fired", "13:00 fired", "14:00 fired"}; !slices.Equal(history(got), want) {
			t.Errorf("history %q, want %q", history(got), want)
		}
		if f := got.History[0]; f.BulkID != "ba_2" || f.Tries != 1 || !got.LastSlot.Equal(f.Slot) || got.LastBulk != "ba_2" {
			t.Errorf("newest fire %+v of %+v, want ba_2 at the first try", f, got)
		}
		if w.made[0].key != s.ID+":2026-01-10T12:00:00Z" || w.calls != 3 {
			t.Errorf("key %q and %d calls, want the id with the slot, and 3", w.made[0].key, w.calls)
		}
	})
}

func TestOnceFiresOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, k, s := startOne(t, "2026-01-10T11:30:00Z", Spec{At: moment(t, "2026-01-10T11:29:30Z")})
		hours(3)
		w.wantSlots(t, "11:29")
		next, err := k.NextFires(t.Context(), s.ID, 5)
		if err != nil || len(next) != 0 {
			t.Errorf("NextFires = %v, %v, want none", next, err)
		}
	})
}

func TestClockChangesFireEachTimeOfDayOnce(t *testing.T) {
	for _, tt := range []struct{ name, from, cron, want string }{
		{"spring", "2026-03-28T23:30:00Z", "30 2 * * *", "01:00"},
		{"autumn", "2026-10-24T23:30:00Z", "30 2 * * *", "00:30"},
		{"autumn, every half hour at night", "2026-10-24T23:30:00Z", "*/30 2 * * *", "00:00 00:30"},
		{"spring, every hour", "2026-03-29T00:30:00Z", "@hourly", "01:00 02:00 03:00"},
		{"autumn, every hour", "2026-10-24T23:30:00Z", "@hourly", "00:00 01:00 02:00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _, _ := startOne(t, tt.from, Spec{Cron: tt.cron, Zone: "Europe/Berlin"})
				hours(3)
				w.wantSlots(t, strings.Fields(tt.want)...)
			})
		})
	}
}

func TestClockThatJumpsFiresEachSlotOnce(t *testing.T) {
	for _, tt := range []struct {
		name string
		jump time.Duration
		want []string
	}{
		{"back an hour", -time.Hour, []string{"12:00", "12:20", "12:40", "13:00"}},
		{"ahead an hour: the newest is caught up", time.Hour, []string{"12:00", "13:00", "13:20", "13:40", "14:00", "14:20", "14:40", "15:00"}},
		{"back a second", -time.Second, []string{"12:00", "12:20", "12:40", "13:00", "13:20", "13:40", "14:00"}},
		{"ahead ten minutes", 10 * time.Minute, []string{"12:00", "12:20", "12:40", "13:00", "13:20", "13:40", "14:00"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _, _ := startOne(t, "2026-01-10T11:45:00Z", Spec{Cron: "*/20 * * * *"})
				minutes(30) // 12:15
				w.set(w.now().Add(tt.jump))
				minutes(107) // 14:02 if it had not jumped
				w.wantSlots(t, tt.want...)
			})
		})
	}
}

func TestClockThatJumpsAheadAndBackFiresEachSlotOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, _ := startOne(t, "2026-01-10T11:45:00Z", Spec{Cron: "*/20 * * * *"})
		minutes(30) // 12:15
		w.set(w.now().Add(time.Hour))
		minutes(10)
		w.set(w.now().Add(-time.Hour)) // 12:25: up to 13:20 all is decided
		minutes(85)
		w.wantSlots(t, "12:00", "13:00", "13:20", "13:40")
	})
}

func TestMissedSlotsAreCaughtUp(t *testing.T) {
	for _, tt := range []struct {
		name    string
		catchUp CatchUp
		want    []string
		history []string
	}{
		{"the newest by default", CatchUp{}, []string{"12:00", "15:00"}, []string{"12:00 fired", "13:00 missed", "15:00 fired"}},
		{"all within the window", CatchUp{Window: 2 * time.Hour, All: true}, []string{"12:00", "14:00", "15:00"}, []string{"12:00 fired", "13:00 missed", "14:00 fired", "15:00 fired"}},
		{"none", CatchUp{Window: time.Minute}, []string{"12:00"}, []string{"12:00 fired", "13:00 missed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.set(moment(t, "2026-01-10T11:30:00Z"))
				k := w.keeper(memstore.New(memstore.Options{}))
				s := create(t, k, Spec{Cron: "0 * * * *", CatchUp: tt.catchUp, Overlap: Allow})
				stop := run(t, k)
				hours(1)
				stop()
				hours(3)
				run(t, k)
				minutes(1)
				w.wantSlots(t, tt.want...)
				if got := history(get(t, k, s.ID)); !slices.Equal(got, tt.history) {
					t.Errorf("history %q, want %q", got, tt.history)
				}
			})
		})
	}
}

func TestOverlapPolicies(t *testing.T) {
	for _, tt := range []struct {
		overlap Overlap
		want    []string
		at      []string
	}{
		{Skip, []string{"12:00", "14:00"}, []string{"12:00", "14:00"}},
		{Queue, []string{"12:00", "13:00", "14:00"}, []string{"12:00", "13:30", "15:00"}},
		{Allow, []string{"12:00", "13:00", "14:00", "15:00"}, []string{"12:00", "13:00", "14:00", "15:00"}},
	} {
		t.Run(string(tt.overlap), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _, _ := startOne(t, "2026-01-10T11:30:00Z", Spec{Cron: "0 * * * *", Overlap: tt.overlap})
				w.edit(func() { w.lasts = 90 * time.Minute })
				hours(3.6)
				w.wantSlots(t, tt.want...)
				for i, m := range w.made {
					if d := m.at.Sub(moment(t, "2026-01-10T"+tt.at[i]+":00Z")); d < 0 || d > pollEvery+time.Second {
						t.Errorf("%s was made at %v, want %s", m.key, m.at, tt.at[i])
					}
				}
			})
		})
	}
}

func TestPauseAcrossASlotDropsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, k, s := startOne(t, "2026-01-10T11:30:00Z", Spec{Cron: "0 * * * *"})
		if _, err := k.Pause(t.Context(), s.ID, s.Version()); err != nil {
			t.Fatal(err)
		}
		hours(1) // 12:30
		if _, err := k.Resume(t.Context(), s.ID, ""); err != nil {
			t.Fatal(err)
		}
		hours(1)
		w.wantSlots(t, "13:00")
	})
}

func TestChangeByAnotherNodeIsSeenInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set(moment(t, "2026-01-10T11:30:00Z"))
		st := memstore.New(memstore.Options{})
		run(t, w.keeper(st))
		synctest.Wait()
		other := w.keeper(st) // does not run
		time.Sleep(29*time.Minute + 54*time.Second)
		s := create(t, other, Spec{Cron: "0 * * * *"})
		minutes(10)
		w.wantSlots(t, "12:00")
		if _, err := other.Update(t.Context(), s.ID, s.Version(), func(spec *Spec) error {
			spec.Cron = "15 * * * *"
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		hours(1)
		w.wantSlots(t, "12:00", "12:15")
		if err := other.Delete(t.Context(), s.ID, ""); err != nil {
			t.Fatal(err)
		}
		hours(3)
		w.wantSlots(t, "12:00", "12:15")
	})
}

// failing fails the first n calls.
func failing(n int) func(int) error {
	return func(call int) error {
		if call <= n {
			return errors.New("no room")
		}
		return nil
	}
}

func TestCreateThatFailsIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, k, s := startOne(t, "2026-01-10T11:59:00Z", Spec{Cron: "0 * * * *"})
		w.edit(func() { w.fault = failing(3) })
		time.Sleep(61 * time.Second)
		synctest.Wait()
		f := get(t, k, s.ID).History[0]
		if f.Result != Retrying || f.Reason != "no room" || f.Tries < 1 {
			t.Errorf("history %+v, want it to be retrying", f)
		}
		minutes(1)
		w.wantSlots(t, "12:00")
		got := get(t, k, s.ID)
		if len(got.History) != 1 || got.History[0].Result != Fired || got.History[0].Tries != 4 || got.Firing != nil {
			t.Errorf("history %+v, want one entry, fired at the fourth try", got.History)
		}
		if w.counts[Fired] != 1 || len(w.counts) != 1 {
			t.Errorf("counts %v, want one fired", w.counts)
		}
	})
}

func TestCreateThatFailsIsGivenUp(t *testing.T) {
	for _, tt := range []struct {
		name  string
		err   error
		after time.Duration
		calls int
	}{
		{"at the end of the window", errors.New("no room"), 11 * time.Minute, 15},
		{"at once for bad input", &weir.InputError{Fields: []*weir.FieldError{{Code: "unknown_action"}}}, time.Second, 1},
		{"at once when it was refused", fmt.Errorf("tenant is gone: %w", ErrRefused), time.Second, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, k, s := startOne(t, "2026-01-10T11:59:59Z", Spec{Cron: "0 * * * *", CatchUp: CatchUp{Window: 10 * time.Minute}})
				w.edit(func() { w.fault = func(int) error { return tt.err } })
				time.Sleep(time.Second + tt.after)
				synctest.Wait()
				f := get(t, k, s.ID).History[0]
				if f.Result != Failed || f.Tries != tt.calls || w.calls != tt.calls || w.counts[Failed] != 1 {
					t.Errorf("history %+v after %d calls, want %d and failed", f, w.calls, tt.calls)
				}
				w.edit(func() { w.fault = nil })
				hours(1)
				w.wantSlots(t, "13:00")
			})
		})
	}
}

func TestBackfillFiresWhatIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, k, s := startOne(t, "2026-01-10T11:30:00Z", Spec{Cron: "0 * * * *"})
		w.edit(func() { w.lasts = 40 * time.Minute })
		hours(2) // 13:30
		slots, err := k.Backfill(t.Context(), s.ID, moment(t, "2026-01-10T10:00:00Z"), moment(t, "2026-01-10T12:00:00Z"))
		if err != nil || len(slots) != 3 {
			t.Fatalf("Backfill = %v, %v, want three slots", slots, err)
		}
		hours(4.25) // 10:00 begins when 13:00 has ended, at 13:40; 14:00 has to wait for it
		w.wantSlots(t, "12:00", "13:00", "10:00", "14:00", "15:00", "11:00", "16:00", "17:00")
		got := get(t, k, s.ID)
		if w.overlap > 0 || len(got.Backfill) > 0 {
			t.Errorf("%d overlaps, and %v is left, want none: 12:00 had been fired before", w.overlap, got.Backfill)
		}
	})
}

func TestASlowCreateHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set(moment(t, "2026-01-10T11:59:00Z"))
		w.slow = 15 * time.Second
		k := w.keeper(memstore.New(memstore.Options{}))
		for range 16 {
			create(t, k, Spec{Cron: "0 * * * *"})
		}
		run(t, k)
		minutes(2)
		if len(w.made) != 16 || slices.Max(w.lags) > 16*time.Second {
			t.Errorf("%d made with lags %v, want 16 side by side", len(w.made), w.lags)
		}
	})
}

func TestScheduleThatIsMadeJustBeforeItsSlotIsOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set(moment(t, "2026-01-10T11:59:58.5Z"))
		k := w.keeper(memstore.New(memstore.Options{}))
		run(t, k)
		time.Sleep(time.Second)
		create(t, k, Spec{Cron: "0 * * * *"})
		time.Sleep(time.Second)
		synctest.Wait()
		if len(w.lags) != 1 || w.lags[0] > 0 {
			t.Errorf("lags %v, want one of nothing", w.lags)
		}
	})
}

func TestRetryGoesOnWhenTheClockIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, _ := startOne(t, "2026-01-10T11:59:00Z", Spec{Cron: "0 * * * *"})
		w.edit(func() { w.fault = failing(4) })
		time.Sleep(62 * time.Second)
		w.set(moment(t, "2026-01-10T09:00:00Z"))
		minutes(2)
		w.wantSlots(t, "12:00")
	})
}

// While one keeper takes too long over a slot, another fires it; the first then finds it done.
func TestSlotThatTwoKeepersFireCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set(moment(t, "2026-01-10T11:59:00Z"))
		st := memstore.New(memstore.Options{})
		stuck := w.keeper(st)
		stuck.opts.Create = func(_ context.Context, s *Schedule, slot time.Time, key string) (string, error) {
			time.Sleep(5 * time.Minute)
			return w.create(t.Context(), s, slot, key)
		}
		s := create(t, stuck, Spec{Cron: "0 * * * *"})
		run(t, stuck)
		minutes(1)
		k := w.keeper(st)
		run(t, k)
		minutes(1)
		w.wantSlots(t, "12:00")
		before := get(t, k, s.ID)
		minutes(10)
		after := get(t, k, s.ID)
		if w.calls != 2 || w.counts[Fired] != 1 || len(w.lags) != 1 || len(after.History) != 1 || !after.History[0].At.Equal(before.History[0].At) {
			t.Errorf("%d calls, counts %v, lags %v, history %v, want two calls and one of the rest", w.calls, w.counts, w.lags, history(after))
		}
	})
}

func TestDamagedScheduleHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set(moment(t, "2026-01-10T11:59:00Z"))
		st := memstore.New(memstore.Options{})
		if _, err := st.Swap(t.Context(), "schedule/sch_0", nil, []byte("rubbish")); err != nil {
			t.Fatal(err)
		}
		k := w.keeper(st)
		var log strings.Builder
		k.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
		create(t, k, Spec{Cron: "0 * * * *"})
		run(t, k)
		minutes(5)
		w.wantSlots(t, "12:00")
		if n := strings.Count(log.String(), "cannot read a schedule"); n != 1 {
			t.Errorf("%d complaints, want one:\n%s", n, log.String())
		}
	})
}
