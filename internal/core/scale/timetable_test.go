package scale

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTimetableHolds(t *testing.T) {
	east := time.FixedZone("east", 2*60*60)
	friday := Reserve{Day: time.Friday, At: 20 * time.Hour, For: 6 * time.Hour, Workers: 64}
	abroad, all := friday, friday
	abroad.Zone, all.For = east, week
	for _, tt := range []struct {
		name    string
		reserve Reserve
		at      time.Time
		want    int
	}{
		{"not yet", friday, time.Date(2026, 5, 8, 19, 59, 59, 0, time.UTC), 0},
		{"from the minute on", friday, time.Date(2026, 5, 8, 20, 0, 0, 0, time.UTC), 64},
		{"over midnight", friday, time.Date(2026, 5, 9, 1, 59, 0, 0, time.UTC), 64},
		{"over", friday, time.Date(2026, 5, 9, 2, 0, 0, 0, time.UTC), 0},
		{"another day", friday, time.Date(2026, 5, 7, 21, 0, 0, 0, time.UTC), 0},
		{"by the clock of its zone", abroad, time.Date(2026, 5, 8, 18, 0, 0, 0, time.UTC), 64},
		{"a week is always", all, time.Date(2026, 5, 8, 19, 59, 59, 0, time.UTC), 64},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := (Config{Timetable: Timetable{tt.reserve}}).Reserved(tt.at.UnixNano()); got != tt.want {
				t.Errorf("reserved = %d, want %d", got, tt.want)
			}
		})
	}
}

// The clocks go forward in Berlin on 2026-03-29 at 2:00: what begins at 20:00
// on the day before lasts eight hours, not until eight hours later by the clock.
func TestTimetableSurvivesTheChangeOfClocks(t *testing.T) {
	table, err := ParseTimetable("Sat 20:00-04:00 9 Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Date(2026, 3, 28, 19, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]int{-time.Second: 0, 0: 9, 8*time.Hour - time.Second: 9, 8 * time.Hour: 0} {
		if got := (Config{Timetable: table}).Reserved(begin.Add(after).UnixNano()); got != want {
			t.Errorf("reserved %v after the begin = %d, want %d", after, got, want)
		}
	}
}

func TestParseTimetable(t *testing.T) {
	for _, tt := range []struct {
		text string
		want string // as it is written, or
		err  string // part of the error
	}{
		{"", "", ""},
		{" ; ", "", ""},
		{"Fri 20:00 64", "Fri 20:00 64", ""},
		{"FRIDAY 20:00:30 64 UTC", "Fri 20:00:30 64", ""},
		{"Fri 20:00-23:30 64 Europe/Berlin", "Fri 20:00-23:30 64 Europe/Berlin", ""},
		{"Fri 20:00 - 23:30 64; Sat 09:00 8;", "Fri 20:00-23:30 64; Sat 09:00 8", ""},
		{"Fri 20:00-02:00 64", "Fri 20:00-02:00 64", ""},
		{"Fri 20:00-20:00 64", "Fri 20:00-Sat 20:00 64", ""},
		{"Sat 20:00-Mon 06:00 8", "Sat 20:00-Mon 06:00 8", ""},
		{"Sun 00:00-Sun 00:00 8", "Sun 00:00-Sun 00:00 8", ""},
		{"Fri 20:00", "", "day, time and workers are needed"},
		{"Fri 20:00-Sat 64", "", `"64" is not a time of day`},
		{"Fri 20:00-Sat 08:00", "", "number of workers is missing"},
		{"Fry 20:00 64", "", `"Fry" is not a weekday`},
		{"Fri 2000 64", "", `"2000" is not a time of day`},
		{"Fri 20:00- 64", "", `"" is not a time of day`},
		{"Fri 20:00-24:00 64", "", `"24:00" is not a time of day`},
		{"Mon 08:00 4; Fri 20:00 many", "", `timetable entry 2, "Fri 20:00 many": "many" is not a number of workers`},
		{"Fri 20:00 0", "", `"0" is not a number of workers`},
		{"Fri 20:00 64 Berlin", "", `"Berlin" is not a time zone`},
		{"Fri 20:00 64 Local", "", `"Local" is not a time zone`},
		{"Fri 20:00 64 Europe/Berlin please", "", `"please" is too much`},
	} {
		t.Run(tt.text, func(t *testing.T) {
			got, err := ParseTimetable(tt.text)
			switch {
			case (err == nil) != (tt.err == ""):
				t.Fatalf("error %v, want %q", err, tt.err)
			case err != nil && !strings.Contains(err.Error(), tt.err):
				t.Errorf("error %q, want %q in it", err, tt.err)
			case err == nil && got.String() != tt.want:
				t.Errorf("read back as %q, want %q", got, tt.want)
			}
		})
	}
}

// Every timetable that is valid can be written and read back.
func TestTimetableIsReadAsItWasWritten(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		var table Timetable
		for range rapid.IntRange(0, 3).Draw(t, "entries") {
			r := Reserve{
				Day:     time.Weekday(rapid.IntRange(0, 6).Draw(t, "day")),
				At:      time.Duration(rapid.IntRange(0, 86_399).Draw(t, "at")) * time.Second,
				For:     time.Duration(rapid.IntRange(0, 604_800).Draw(t, "for")) * time.Second,
				Workers: rapid.IntRange(1, 64).Draw(t, "workers"),
				Zone:    rapid.SampledFrom([]*time.Location{nil, berlin}).Draw(t, "zone"),
			}
			if err := r.validate(64); err != nil {
				t.Fatal(err)
			}
			table = append(table, r)
		}
		back, err := ParseTimetable(table.String())
		same := func(a, b Reserve) bool { return a.String() == b.String() && a.For == b.For && a.At == b.At }
		if err != nil || !slices.EqualFunc(table, back, same) {
			t.Fatalf("%q came back as %q (%v)", table, back, err)
		}
	})
}
