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
		{"drain too short", Config{Drain: 1}, "drain is 1ns"},
		{"override over the maximum", Config{Override: Override{Workers: 99, Until: 1}}, "override asks for 99"},
		{"reserve without workers", Config{Timetable: []Reserve{{}}}, "timetable entry 1: workers is 0"},
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
