package schedule

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// says writes decisions as "fire 12:00" and "miss 09:00-11:00".
func says(ds []Decision) []string {
	var out []string
	for _, d := range ds {
		s := string(d.Do) + " " + d.Slot.UTC().Format("15:04")
		if d.Do == DoMiss {
			s += "-" + d.Until.UTC().Format("15:04")
		}
		out = append(out, s)
	}
	return out
}

func TestDue(t *testing.T) {
	at := func(clock string) time.Time { return moment(t, "2026-01-10T"+clock+":00Z") }
	hourly, often := rule(t, "0 * * * *", "UTC"), rule(t, "*/10 * * * *", "UTC")
	all := CatchUp{Window: 3 * time.Hour, All: true}
	for _, tt := range []struct {
		name  string
		state State
		now   string
		want  []string
	}{
		{"nothing before the slot", State{Times: hourly, Decided: at("11:00")}, "11:59", nil},
		{"the slot itself", State{Times: hourly, Decided: at("11:00")}, "12:00", []string{"fire 12:00"}},
		{"nothing while the clock is back", State{Times: hourly, Decided: at("12:00")}, "11:00", nil},
		{"nothing while paused", State{Times: hourly, Decided: at("11:00"), Paused: true, Waiting: []time.Time{at("11:00")}}, "12:00", nil},
		{"nothing after the end", State{Times: hourly, Decided: at("11:00"), End: at("11:59")}, "12:00", nil},
		{"the end itself", State{Times: hourly, Decided: at("11:00"), End: at("12:00")}, "12:30", []string{"fire 12:00"}},
		{"only the newest late one", State{Times: often, Decided: at("11:00")}, "12:05", []string{"miss 11:10-12:00", "fire 12:00"}},
		{"none that is older than the window", State{Times: hourly, Decided: at("09:00"), CatchUp: CatchUp{Window: 20 * time.Minute}}, "12:30", []string{"miss 10:00-12:10"}},
		{"exactly the window", State{Times: hourly, Decided: at("09:00"), CatchUp: CatchUp{Window: 30 * time.Minute}}, "12:30", []string{"miss 10:00-12:00", "fire 12:00"}},
		{"a late one gives way to one on time", State{Times: hourly, Decided: at("10:00")}, "12:00", []string{"miss 11:00-12:00", "fire 12:00"}},
		{"all within the window, the first one first", State{Times: hourly, Decided: at("06:00"), CatchUp: all}, "12:30", []string{"miss 07:00-09:30", "fire 10:00"}},
		{"two on time are both fired", State{Times: rule(t, "* * * * *", "UTC"), Decided: at("11:58")}, "12:00", []string{"fire 11:59"}},
		{"once", State{Times: Once(at("12:00")), Decided: at("11:00")}, "12:00", []string{"fire 12:00"}},
		{"once is over", State{Times: Once(at("12:00")), Decided: at("12:00")}, "23:00", nil},
		{"once, too late", State{Times: Once(at("12:00")), Decided: at("11:00")}, "14:00", []string{"miss 12:00-13:00"}},
		{"skip is the default", State{Times: hourly, Decided: at("11:00"), Running: true}, "12:00", []string{"skip 12:00"}},
		{"queue", State{Times: hourly, Decided: at("11:00"), Running: true, Overlap: Queue}, "12:00", []string{"queue 12:00"}},
		{"allow", State{Times: hourly, Decided: at("11:00"), Running: true, Overlap: Allow}, "12:00", []string{"fire 12:00"}},
		{"what waits comes first", State{Times: hourly, Decided: at("11:00"), Overlap: Queue, Waiting: []time.Time{at("11:00")}}, "12:00", []string{"fire 11:00"}},
		{"what waits goes on waiting", State{Times: hourly, Decided: at("11:00"), Overlap: Queue, Running: true, Waiting: []time.Time{at("11:00")}}, "11:30", nil},
		{"a full queue", State{Times: hourly, Decided: at("11:00"), Overlap: Queue, Running: true, Waiting: slices.Repeat([]time.Time{at("10:00")}, MaxWaiting)}, "12:00", []string{"skip 12:00"}},
		{"a backfill skips no slot", State{Times: hourly, Decided: at("11:00"), Running: true, Catching: true}, "12:00", []string{"queue 12:00"}},
		{"live before backfill", State{Times: hourly, Decided: at("11:00"), Backfill: []time.Time{at("03:00")}}, "12:00", []string{"fire 12:00"}},
		{"backfill when there is nothing else", State{Times: hourly, Decided: at("12:00"), Backfill: []time.Time{at("03:00"), at("04:00")}}, "12:00", []string{"fire 03:00"}},
		{"backfill waits as well", State{Times: hourly, Decided: at("12:00"), Running: true, Backfill: []time.Time{at("03:00")}}, "12:00", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Due(tt.state, at(tt.now))
			if !slices.Equal(says(got), tt.want) {
				t.Errorf("Due = %q, want %q", says(got), tt.want)
			}
			for _, d := range got {
				if d.Reason == "" || d.Origin == "" {
					t.Errorf("%+v has no reason or origin", d)
				}
			}
		})
	}
}

func TestYearsOfDowntimeAreOneDecision(t *testing.T) {
	s := State{Times: rule(t, "* * * * *", "Europe/Berlin"), Decided: moment(t, "2016-01-01T00:00:00Z")}
	ds := Due(s, moment(t, "2026-01-01T00:00:30Z"))
	if got := says(ds); len(got) != 2 || got[0] != "miss 00:01-00:00" || got[1] != "fire 00:00" {
		t.Errorf("Due = %q, want one miss and one fire", got)
	}
}

// story lives through random times with a schedule: what becomes of each slot.
type story struct {
	s      Schedule
	times  Times
	now    time.Time
	endsAt time.Time // of the bulk action made last
	fate   map[time.Time]Do
	fired  []time.Time
}

// carry carries out what is due now, as a keeper does.
func (y *story) carry(t *rapid.T, lasts time.Duration) {
	for range 10000 {
		running := y.now.Before(y.endsAt)
		ds := Due(y.s.state(y.times, running), y.now)
		if len(ds) == 0 {
			return
		}
		for _, d := range ds {
			y.note(t, d, running)
		}
		y.s.apply(ds, y.now, 0)
		if y.s.Firing != nil {
			y.endsAt = y.now.Add(lasts)
			y.s.fired("ba", y.now)
		}
	}
	t.Fatal("Due never comes to an end")
}

// note holds a decision against what was decided before.
func (y *story) note(t *rapid.T, d Decision, running bool) {
	slots := []time.Time{d.Slot}
	if d.Do == DoMiss {
		slots = Slots(y.times, d.Slot, d.Until.Add(-1), 1<<20)
	}
	for _, at := range slots {
		at = at.UTC()
		if was, ok := y.fate[at]; ok && (was != DoQueue || d.Do != DoFire || d.Origin != Waited) {
			t.Fatalf("%v: %s after %s", at, d.Do, was)
		}
		y.fate[at] = d.Do
	}
	late := y.now.Sub(d.Slot)
	switch {
	case late < 0:
		t.Fatalf("%s of %v at %v, before its time", d.Do, d.Slot, y.now)
	case d.Do == DoFire && running && y.s.Overlap != Allow:
		t.Fatalf("%v is fired while the one before runs", d.Slot)
	case d.Do == DoFire && d.Origin == Live && late > y.s.CatchUp.Window:
		t.Fatalf("%v is fired %v late", d.Slot, late)
	case d.Do == DoMiss && y.s.CatchUp.All && y.now.Sub(slots[len(slots)-1]) <= y.s.CatchUp.Window:
		t.Fatalf("%v is missed within the window at %v", slots[len(slots)-1], y.now)
	case d.Do == DoFire:
		if n := len(y.fired); n > 0 && !y.fired[n-1].Before(d.Slot) {
			t.Fatalf("%v is fired after %v", d.Slot, y.fired[n-1])
		}
		y.fired = append(y.fired, d.Slot)
	}
}

func TestEachSlotIsDecidedOnceInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		begin := time.Date(2026, 3, 28, 22, 0, 0, 0, time.UTC)
		r, err := ParseRule(rapid.SampledFrom([]string{"*/5 * * * *", "7,30 * * * *", "*/20 1-3 * * *", "0 */2 * * *"}).Draw(t, "cron"), "Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		y := &story{times: r, now: begin, fate: map[time.Time]Do{}, s: Schedule{Decided: begin, Spec: Spec{
			Overlap: rapid.SampledFrom([]Overlap{Skip, Queue, Allow}).Draw(t, "overlap"),
			CatchUp: CatchUp{
				Window: time.Duration(rapid.IntRange(1, 120).Draw(t, "window")) * time.Minute,
				All:    rapid.Bool().Draw(t, "all"),
			},
		}}}
		until := begin
		for _, minutes := range rapid.SliceOfN(rapid.IntRange(-70, 100), 1, 30).Draw(t, "steps of the clock") {
			y.now = y.now.Add(time.Duration(minutes)*time.Minute + 7*time.Second)
			if y.now.After(until) {
				until = y.now
			}
			y.carry(t, time.Duration(rapid.IntRange(0, 40).Draw(t, "lasts"))*time.Minute)
		}
		for _, at := range Slots(r, begin.Add(1), until, 1<<20) {
			if _, ok := y.fate[at.UTC()]; !ok {
				t.Fatalf("nothing was decided about %v by %v", at, until)
			}
		}
	})
}
