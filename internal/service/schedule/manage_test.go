package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store/memstore"
)

// idle is a keeper that does not run, at a moment.
func idle(t *testing.T, at string) (*world, *Keeper) {
	t.Helper()
	w := newWorld()
	w.set(moment(t, at))
	return w, w.keeper(memstore.New(memstore.Options{}))
}

func TestScheduleIsKeptAsItWasMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k := idle(t, "2026-01-10T11:30:00Z")
		s := create(t, k, Spec{Cron: "0 9 * * *", Zone: "Europe/Berlin"})
		got := get(t, k, s.ID)
		if !strings.HasPrefix(got.ID, "sch_0") || strings.ToLower(got.ID) != got.ID || len(got.ID) != 30 {
			t.Errorf("id %q, want sch_ and a ULID in small letters", got.ID)
		}
		if got.Overlap != Skip || got.CatchUp.Window != time.Hour || got.CreatedBy != "key_1" || string(got.Template) != `{"steps":[]}` || got.Version() != s.Version() {
			t.Errorf("%+v, want the defaults", got)
		}
		if _, err := k.Get(t.Context(), "sch_none"); !errors.Is(err, weir.ErrNotFound) {
			t.Errorf("Get of none: %v, want ErrNotFound", err)
		}
	})
}

func TestVersionChangesWithUsersOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, s := startOne(t, "2026-01-10T11:30:00Z", Spec{Cron: "* * * * *"})
		minutes(3)
		if got := get(t, k, s.ID); got.Version() != s.Version() || len(got.History) != 3 {
			t.Fatalf("version %s with %d fires, want still %s and 3", got.Version(), len(got.History), s.Version())
		}
		rename := func(spec *Spec) error { spec.Name = "other"; return nil }
		changed, err := k.Update(t.Context(), s.ID, s.Version(), rename)
		if err != nil || changed.Name != "other" || changed.Version() == s.Version() {
			t.Fatalf("Update = %+v, %v, want it renamed, of another version", changed, err)
		}
		if _, err := k.Update(t.Context(), s.ID, s.Version(), rename); !errors.Is(err, ErrChanged) {
			t.Errorf("Update of an old version: %v, want ErrChanged", err)
		}
		if err := k.Delete(t.Context(), s.ID, s.Version()); !errors.Is(err, ErrChanged) {
			t.Errorf("Delete of an old version: %v, want ErrChanged", err)
		}
		paused, err := k.Pause(t.Context(), s.ID, changed.Version())
		if err != nil || !paused.Paused {
			t.Fatalf("Pause = %+v, %v", paused, err)
		}
		again, err := k.Pause(t.Context(), s.ID, paused.Version())
		if err != nil || again.Version() != paused.Version() {
			t.Errorf("second Pause = %+v, %v, want no change", again, err)
		}
		if err := k.Delete(t.Context(), s.ID, paused.Version()); err != nil {
			t.Errorf("Delete: %v", err)
		}
		if _, err := k.Get(t.Context(), s.ID); !errors.Is(err, weir.ErrNotFound) {
			t.Errorf("Get after Delete: %v, want ErrNotFound", err)
		}
	})
}

func TestListGoesThroughAllPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k := idle(t, "2026-01-10T11:30:00Z")
		var want, got []string
		for range 70 {
			want = append(want, create(t, k, Spec{Cron: "0 * * * *"}).ID)
			time.Sleep(time.Millisecond)
		}
		for cursor, pages := "", 1; ; pages++ {
			page, next, err := k.List(t.Context(), cursor, 25)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range page {
				got = append(got, s.ID)
			}
			if cursor = next; next == "" {
				if pages != 3 {
					t.Errorf("%d pages, want 3", pages)
				}
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("listed %v\nwant %v", got, want)
		}
	})
}

func TestNextFiresStopAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k := idle(t, "2026-03-28T11:30:00Z")
		s := create(t, k, Spec{Cron: "30 2 * * *", Zone: "Europe/Berlin", End: moment(t, "2026-03-31T00:00:00Z")})
		next, err := k.NextFires(t.Context(), s.ID, 5)
		if got := fmt.Sprint(next); err != nil || got != "[2026-03-29 03:00:00 +0200 CEST 2026-03-30 02:30:00 +0200 CEST]" {
			t.Errorf("NextFires = %s, %v", got, err)
		}
	})
}

func TestNewTimesDoNotReachBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, k := idle(t, "2026-01-10T11:30:00Z")
		s := create(t, k, Spec{Cron: "0 * * * *", CatchUp: CatchUp{Window: 24 * time.Hour, All: true}})
		hours(3) // no keeper runs
		if _, err := k.Update(t.Context(), s.ID, "", func(spec *Spec) error {
			spec.Cron = "*/20 * * * *"
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		run(t, k)
		minutes(11)
		w.wantSlots(t, "14:40")
	})
}

func TestSpecIsCheckedWhole(t *testing.T) {
	now := moment(t, "2026-01-10T11:30:00Z")
	good := Spec{Name: "nightly", Tenant: "growth", Cron: "0 9 * * *", Zone: "UTC", Template: json.RawMessage(`{}`)}
	for _, tt := range []struct {
		name  string
		spoil func(*Spec)
		code  string
		field string
		want  string
	}{
		{"no name", func(s *Spec) { s.Name = "" }, "missing_field", "name", "is missing; name the schedule"},
		{"long name", func(s *Spec) { s.Name = strings.Repeat("x", 129) }, "out_of_range", "name", "has 129 bytes of at most 128; shorten it"},
		{"control characters", func(s *Spec) { s.Name = "a\x00" }, "bad_text", "name", "has control characters or some that turn text around, or is not UTF-8; remove them"},
		{"nothing to be seen", func(s *Spec) { s.Name = " \u200b" }, "bad_text", "name", "has nothing that can be seen; name the schedule"},
		{"no tenant", func(s *Spec) { s.Tenant = "" }, "missing_field", "tenant", "is missing; name the tenant that owns the bulk actions"},
		{"no template", func(s *Spec) { s.Template = nil }, "missing_field", "template", "is missing; say which bulk action to create"},
		{"broken template", func(s *Spec) { s.Template = json.RawMessage("{") }, "bad_json", "template", "is not JSON; write a JSON object"},
		{"huge template", func(s *Spec) { s.Template = make([]byte, MaxTemplate+1) }, "out_of_range", "template", "has 262145 bytes of at most 262144; have it read its items from a source"},
		{"unknown policy", func(s *Spec) { s.Overlap = "replace" }, "bad_value", "overlap", `"replace" is not an overlap policy; write skip, queue or allow`},
		{"window", func(s *Spec) { s.CatchUp.Window = time.Second }, "out_of_range", "catch_up.window", "1s is not between 1m0s and 720h0m0s; leave it out for the default"},
		{"no times", func(s *Spec) { s.Cron = "" }, "bad_time", "cron", "is missing, and so is at; write one of them"},
		{"both", func(s *Spec) { s.At = now }, "bad_time", "at", "cannot be combined with cron; write one of them"},
		{"once in the past", func(s *Spec) { s.Cron, s.At = "", now.Add(-time.Hour) }, "bad_time", "at", "2026-01-10T10:30:00Z is in the past; it is now 2026-01-10T11:30:00Z; write a future time"},
		{"bad rule", func(s *Spec) { s.Cron = "61 * * * *" }, "bad_time", "cron", "minute 61 is not between 0 and 59; write a value within these bounds"},
		{"end before the start", func(s *Spec) { s.End = now.Add(time.Hour) }, "out_of_range", "end", "2026-01-10T12:30:00Z is before the first time, 2026-01-11T09:00:00Z; write a later end, or leave it out"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := good
			tt.spoil(&s)
			wantField(t, s.Check(now), tt.code, tt.field, tt.want)
		})
	}
	if err := good.Check(now); err != nil {
		t.Errorf("good spec: %v", err)
	}
	var in *weir.InputError
	if err := (&Spec{}).Check(now); !errors.As(err, &in) || len(in.Fields) != 4 {
		t.Errorf("empty spec: %v, want four faults", err)
	}
}

func TestRefusedChangesLeaveEverythingAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, k := idle(t, "2026-01-10T11:30:00Z")
		s := create(t, k, Spec{Cron: "0 * * * *"})
		_, err := k.Update(t.Context(), s.ID, "", func(spec *Spec) error { spec.Tenant = "other"; return nil })
		wantField(t, err, "out_of_range", "tenant", "cannot be changed; create another schedule")
		_, err = k.Update(t.Context(), s.ID, "", func(spec *Spec) error { spec.Cron = "* * *"; return nil })
		wantField(t, err, "bad_time", "cron", `"* * *" has 3 fields; write five: minute, hour, day of month, month and day of week`)
		now := w.now()
		_, err = k.Backfill(t.Context(), s.ID, now, now.Add(time.Hour))
		wantField(t, err, "bad_time", "to", "2026-01-10T12:30:00Z is in the future; write a past time")
		_, err = k.Backfill(t.Context(), s.ID, now, now.Add(-time.Hour))
		wantField(t, err, "bad_time", "from", "2026-01-10T11:30:00Z is after to; swap them")
		_, err = k.Backfill(t.Context(), s.ID, now.Add(-time.Minute), now)
		wantField(t, err, "bad_time", "from", "no time of the schedule is between from and to; choose a longer range")
		_, err = k.Backfill(t.Context(), s.ID, now.AddDate(-1, 0, 0), now)
		wantField(t, err, "out_of_range", "from", "more than 1000 slots to fire, the maximum is 1000; choose a shorter range")
		if got := get(t, k, s.ID); got.Version() != s.Version() || got.Cron != s.Cron || len(got.Backfill) > 0 {
			t.Errorf("%+v, want it as it was", got)
		}
	})
}

func TestFinishedScheduleCanBeRenamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, s := startOne(t, "2026-01-10T11:30:00Z", Spec{At: moment(t, "2026-01-10T12:00:00Z")})
		hours(2)
		got, err := k.Update(t.Context(), s.ID, "", func(spec *Spec) error { spec.Name = "old"; return nil })
		if err != nil || got.Name != "old" {
			t.Errorf("Update = %+v, %v", got, err)
		}
	})
}

func TestHistoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, k, s := startOne(t, "2026-01-10T11:30:00Z", Spec{Cron: "* * * * *"})
		minutes(60)
		got := get(t, k, s.ID)
		if len(got.History) != MaxHistory || !got.History[0].Slot.Equal(moment(t, "2026-01-10T12:30:00Z")) {
			t.Errorf("%d fires, the newest %v, want %d and 12:30", len(got.History), got.History[0].Slot, MaxHistory)
		}
	})
}
