package scale

import (
	"strings"
	"testing"
	"time"
)

func TestValidateNamesTheField(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config Config
		want   string // "" for none
	}{
		{"the zero value is fine", Config{}, ""},
		{"a high minimum lifts the default maximum", Config{Min: 100}, ""},
		{"negative minimum", Config{Min: -1}, "min is -1"},
		{"maximum below minimum", Config{Min: 9, Max: 3}, "max is 3, below min 9"},
		{"target above one", Config{Target: 1.5}, "target is 1.5"},
		{"drain too short", Config{Drain: 1}, "drain is 1ns"},
		{"window too long", Config{Window: time.Hour}, "window is 1h0m0s"},
		{"negative cooldown", Config{Cooldown: -1}, "cooldown is -1ns"},
		{"negative slot wait", Config{SlotWait: -1}, "slot wait is -1ns"},
		{"override over the maximum", Config{Override: Override{Workers: 99, Until: 1}}, "override asks for 99"},
		{"reserve of nobody", Config{Timetable: []Reserve{{}}}, "timetable entry 1: workers is 0"},
		{"reserve at no time of day", Config{Timetable: []Reserve{{Workers: 1, At: 24 * time.Hour}}}, "at is 24h"},
		{"reserve on no day", Config{Timetable: []Reserve{{Workers: 1, Day: 7}}}, "day is 7"},
		{"reserve of more than a week", Config{Timetable: []Reserve{{Workers: 1, For: 169 * time.Hour}}}, "for is 169h"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.config.Validate()
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Validate() = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestTimetable(t *testing.T) {
	east := time.FixedZone("east", 2*60*60)
	friday := Reserve{Day: time.Friday, At: 20 * time.Hour, For: 6 * time.Hour, Workers: 64}
	abroad := friday
	abroad.Zone = east
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
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := (Config{Timetable: []Reserve{tt.reserve}}).reserved(tt.at.UnixNano()); got != tt.want {
				t.Errorf("reserved = %d, want %d", got, tt.want)
			}
		})
	}
}

func TestUnknownPolicyIsToldWhatThereIs(t *testing.T) {
	_, err := ByName("magic")
	if err == nil {
		t.Fatal("ByName(magic) = nil error, want one")
	}
	for _, name := range append(Names(), `"magic"`) {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("error %q does not name %s", err, name)
		}
	}
	if p, err := ByName(""); p == nil || err != nil {
		t.Errorf("no name: error %v, want the default", err)
	}
}
