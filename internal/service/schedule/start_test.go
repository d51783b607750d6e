package schedule

import (
	"strings"
	"testing"
	"time"
)

func TestStartIsReadWithOffsetOrInAZone(t *testing.T) {
	now := moment(t, "2026-01-10T12:00:00Z")
	for _, tt := range []struct {
		name, text, zone, want, note string
	}{
		{"UTC", "2026-03-29T02:30:00Z", "", "2026-03-29T02:30:00Z", ""},
		{"an offset", "2026-03-29T02:30:00+05:30", "", "2026-03-28T21:00:00Z", ""},
		{"an offset wins over the zone", "2026-07-01T12:00:00Z", "Europe/Berlin", "2026-07-01T12:00:00Z", ""},
		{"winter in Berlin", "2026-01-29T02:30", "Europe/Berlin", "2026-01-29T01:30:00Z", ""},
		{"summer in Berlin", "2026-07-29T02:30", "Europe/Berlin", "2026-07-29T00:30:00Z", ""},
		{"seconds", "2026-07-29T02:30:15", "Europe/Berlin", "2026-07-29T00:30:15Z", ""},
		{"half an hour off", "2026-07-29T02:30", "Asia/Kolkata", "2026-07-28T21:00:00Z", ""},
		{
			"a doubled time is the first", "2026-10-25T02:30", "Europe/Berlin", "2026-10-25T00:30:00Z",
			"2026-10-25T02:30 occurs twice in Europe/Berlin; the first one is used, 2026-10-25T00:30:00Z",
		},
		{
			"doubled in New York", "2026-11-01T01:00", "America/New_York", "2026-11-01T05:00:00Z",
			"2026-11-01T01:00 occurs twice in America/New_York; the first one is used, 2026-11-01T05:00:00Z",
		},
		{
			"doubled half an hour on Lord Howe", "2026-04-05T01:45", "Australia/Lord_Howe", "2026-04-04T14:45:00Z",
			"2026-04-05T01:45 occurs twice in Australia/Lord_Howe; the first one is used, 2026-04-04T14:45:00Z",
		},
		{"not doubled just before", "2026-04-05T01:15", "Australia/Lord_Howe", "2026-04-04T14:15:00Z", ""},
		{"the end of a gap exists", "2026-03-29T03:00", "Europe/Berlin", "2026-03-29T01:00:00Z", ""},
		{"half a minute ago", "2026-01-10T11:59:30Z", "", "2026-01-10T11:59:30Z", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at, note, err := ParseStart("start_at", tt.text, tt.zone, now)
			if err != nil || !at.Equal(moment(t, tt.want)) || note != tt.note {
				t.Errorf("ParseStart = %v, %q, %v, want %s, %q", at.UTC(), note, err, tt.want, tt.note)
			}
		})
	}
}

func TestStartIsRefusedWithAReason(t *testing.T) {
	now := moment(t, "2026-01-10T12:00:00Z")
	for _, tt := range []struct {
		name, text, zone, field, want string
	}{
		{"skipped in Berlin", "2026-03-29T02:30", "Europe/Berlin", "plan.start_at", "2026-03-29T02:30 does not exist in Europe/Berlin; next is 03:00; write a time that exists"},
		{"skipped on Lord Howe", "2026-10-04T02:10", "Australia/Lord_Howe", "plan.start_at", "2026-10-04T02:10 does not exist in Australia/Lord_Howe; next is 02:30; write a time that exists"},
		{"no zone", "2026-03-29T04:30", "", "plan.start_at", "2026-03-29T04:30 has neither an offset nor a zone; add Z or an offset such as +02:00, or name the zone, such as Europe/Berlin"},
		{"past", "2026-01-10T11:58:59Z", "", "plan.start_at", "2026-01-10T11:58:59Z is in the past; it is now 2026-01-10T12:00:00Z; write a future time, or leave it out to start now"},
		{"in 2190", "2190-01-01T00:00:00Z", "", "plan.start_at", "2190-01-01T00:00:00Z is more than 10 years away; write a time before 2036-01-10T12:00:00Z"},
		{"no time", "tomorrow", "Europe/Berlin", "plan.start_at", `"tomorrow" is not a time; write 2026-03-29T12:30:00Z, 2026-03-29T12:30:00+02:00, or 2026-03-29T12:30 and a zone`},
		{"no such day", "2026-02-30T10:00", "Europe/Berlin", "plan.start_at", `"2026-02-30T10:00" is not a time; write 2026-03-29T12:30:00Z, 2026-03-29T12:30:00+02:00, or 2026-03-29T12:30 and a zone`},
		{"unknown zone", "2026-03-29T04:30", "Europe/Berln", "plan.zone", `"Europe/Berln" is not a time zone; did you mean Europe/Berlin?`},
		{"unknown zone beside an offset", "2026-03-29T04:30:00Z", "Mars", "plan.zone", `"Mars" is not a time zone; write a name of the time zone database such as Europe/Berlin or UTC`},
		{"this machine's zone", "2026-03-29T04:30", "Local", "plan.zone", `"Local" is not a time zone; write a name of the time zone database such as Europe/Berlin or UTC`},
		{"a path", "2026-03-29T04:30", "../../etc/passwd", "plan.zone", `"../../etc/passwd" is not a time zone; write a name of the time zone database such as Europe/Berlin or UTC`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := ParseStart("plan.start_at", tt.text, tt.zone, now)
			wantField(t, err, "bad_time", tt.field, tt.want)
		})
	}
}

func TestZoneThatWasMeantIsSuggested(t *testing.T) {
	for given, want := range map[string]string{
		"europe/berlin": "Europe/Berlin", "Berlin": "Europe/Berlin", "America/New York": "America/New_York",
		"new york": "America/New_York", "Asia/Calcuta": "Asia/Calcutta", "Europe/Kiew": "Europe/Kiev",
		"utc": "UTC", "PST": "", "X": "", "Middle/Earth": "", strings.Repeat("Europe/", 100): "",
	} {
		if got := nearZone(given); got != want {
			t.Errorf("nearZone(%q) = %q, want %q", given, got, want)
		}
	}
}

func TestSuggestedZonesExist(t *testing.T) {
	n := 0
	for line := range strings.Lines(zoneNames) {
		if name := strings.TrimSpace(line); name[0] != '#' {
			if _, err := time.LoadLocation(name); err != nil {
				t.Error(err)
			}
			n++
		}
	}
	if n < 400 {
		t.Errorf("%d zones, want all", n)
	}
}

func TestMomentsDoNotGoBack(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kolkata", "Pacific/Apia", "Africa/Casablanca", "UTC"} {
		loc := zone(t, name)
		for _, day := range []string{"2011-12-28", "2018-02-16", "2018-11-02", "2026-03-27", "2026-04-03", "2026-10-02", "2026-10-23", "2040-03-24"} {
			wall := moment(t, day+"T00:00:00Z")
			last, _ := momentOf(wall.Add(-time.Minute), loc)
			for range 4 * 24 * 12 {
				at, what := momentOf(wall, loc)
				if at.Before(last) || (what == skipped) == wallOf(at, loc).Equal(wall) {
					t.Fatalf("%s: %v is %v (%d), after %v", name, wall, at, what, last)
				}
				last, wall = at, wall.Add(5*time.Minute)
			}
		}
	}
}
