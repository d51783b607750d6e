package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRuleOnDaysOfClockChanges(t *testing.T) {
	const layout = "01-02 15:04 MST"
	for _, tt := range []struct {
		name, expr, zone, after string
		want                    []string
	}{
		{"UTC has none", "30 2 * * *", "UTC", "2026-03-28T00:00:00Z", []string{"03-28 02:30 UTC", "03-29 02:30 UTC", "03-30 02:30 UTC"}},
		{"Berlin, spring: a skipped time fires after the gap", "30 2 * * *", "Europe/Berlin", "2026-03-27T12:00:00Z", []string{"03-28 02:30 CET", "03-29 03:00 CEST", "03-30 02:30 CEST"}},
		{"Berlin, spring: all skipped times fire once", "*/15 2 * * *", "Europe/Berlin", "2026-03-28T01:40:00Z", []string{"03-28 02:45 CET", "03-29 03:00 CEST", "03-30 02:00 CEST", "03-30 02:15 CEST"}},
		{"Berlin, spring: the skipped time and the one after share a slot", "0 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", []string{"03-29 03:00 CEST", "03-30 02:00 CEST"}},
		{"Berlin, spring: every other hour", "0 */2 * * *", "Europe/Berlin", "2026-03-28T22:30:00Z", []string{"03-29 00:00 CET", "03-29 03:00 CEST", "03-29 04:00 CEST"}},
		{"Berlin, spring: quarters of an hour", "*/15 * * * *", "Europe/Berlin", "2026-03-29T00:31:00Z", []string{"03-29 01:45 CET", "03-29 03:00 CEST", "03-29 03:15 CEST"}},
		{"Berlin, spring: every half past is an hour from the last", "30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", []string{"03-29 01:30 CET", "03-29 03:30 CEST"}},
		{"Berlin, autumn: a doubled time fires once", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", []string{"10-25 02:30 CEST", "10-26 02:30 CET"}},
		{"Berlin, autumn: also if asked between the two", "30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", []string{"10-26 02:30 CET"}},
		{"Berlin, autumn: every other hour", "0 */2 * * *", "Europe/Berlin", "2026-10-24T21:30:00Z", []string{"10-25 00:00 CEST", "10-25 02:00 CEST", "10-25 04:00 CET"}},
		{"Berlin, autumn: every hour of real time", "0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", []string{"10-25 02:00 CEST", "10-25 02:00 CET", "10-25 03:00 CET"}},
		{"Berlin, autumn: all hours named one by one is every hour", "0 0-23 * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", []string{"10-25 02:00 CEST", "10-25 02:00 CET", "10-25 03:00 CET"}},
		{"Berlin, autumn: quarters of an hour", "*/15 * * * *", "Europe/Berlin", "2026-10-25T00:40:00Z", []string{"10-25 02:45 CEST", "10-25 02:00 CET", "10-25 02:15 CET"}},
		{"New York, spring", "30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", []string{"03-08 03:00 EDT", "03-09 02:30 EDT"}},
		{"New York, autumn", "30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", []string{"11-01 01:30 EDT", "11-02 01:30 EST"}},
		{"Lord Howe, spring: half an hour is skipped", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", []string{"10-04 02:30 +11", "10-05 02:15 +11"}},
		{"Lord Howe, autumn: half an hour is doubled", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z", []string{"04-05 01:45 +11", "04-06 01:45 +1030"}},
		{"Lord Howe, autumn: quarters of an hour", "*/15 * * * *", "Australia/Lord_Howe", "2026-04-04T14:40:00Z", []string{"04-05 01:45 +11", "04-05 01:30 +1030", "04-05 01:45 +1030", "04-05 02:00 +1030"}},
		{"Kolkata has none", "0 0 * * *", "Asia/Kolkata", "2026-03-28T00:00:00Z", []string{"03-29 00:00 IST", "03-30 00:00 IST"}},
		{"São Paulo, spring: midnight is skipped", "@daily", "America/Sao_Paulo", "2018-11-03T12:00:00Z", []string{"11-04 01:00 -02", "11-05 00:00 -02"}},
		{"São Paulo, autumn: the last hour of a day comes twice", "30 23 * * *", "America/Sao_Paulo", "2018-02-17T12:00:00Z", []string{"02-17 23:30 -02", "02-18 23:30 -03"}},
		{"São Paulo, autumn: midnight comes after both", "@daily", "America/Sao_Paulo", "2018-02-17T12:00:00Z", []string{"02-18 00:00 -03", "02-19 00:00 -03"}},
		{"Apia: a day that is left out", "0 12 * * *", "Pacific/Apia", "2011-12-29T00:00:00Z", []string{"12-29 12:00 -10", "12-31 00:00 +14", "12-31 12:00 +14"}},
		{"after 2038", "30 2 * * *", "Europe/Berlin", "2040-03-24T12:00:00Z", []string{"03-25 03:00 CEST", "03-26 02:30 CEST"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, at := range NextN(rule(t, tt.expr, tt.zone), moment(t, tt.after), len(tt.want)) {
				got = append(got, at.Format(layout))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s in %s: %q, want %q", tt.expr, tt.zone, got, tt.want)
			}
		})
	}
}

func TestRuleReadsWhatCronsRead(t *testing.T) {
	for _, tt := range []struct{ name, expr, want string }{
		{"a named day in capitals", "0 9 * * THU", "2026-01-15T09:00:00Z"},
		{"a range of names", "0 9 * * mon-fri", "2026-01-12T09:00:00Z"},
		{"Sunday is 7 as well", "0 9 * * 7", "2026-01-11T09:00:00Z"},
		{"a month by name", "0 0 1 MAR *", "2026-03-01T00:00:00Z"},
		{"either kind of day", "0 0 13 * FRI", "2026-01-13T00:00:00Z"},
		{"a leap day", "0 0 29 2 *", "2028-02-29T00:00:00Z"},
		{"hours over midnight", "0 22-2 * * *", "2026-01-10T22:00:00Z"},
		{"hourly", "@hourly", "2026-01-10T13:00:00Z"},
		{"weekly", "@Weekly", "2026-01-11T00:00:00Z"},
		{"spaces around", "  5 * * * * ", "2026-01-10T12:05:00Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := rule(t, tt.expr, "UTC").Next(moment(t, "2026-01-10T12:00:00Z")); !got.Equal(moment(t, tt.want)) {
				t.Errorf("Next = %v, want %s", got, tt.want)
			}
		})
	}
}

func TestLeapDayIsFoundAcrossACentury(t *testing.T) {
	if got := rule(t, "0 0 29 2 *", "UTC").Next(moment(t, "2096-03-01T00:00:00Z")); got.Year() != 2104 {
		t.Errorf("Next = %v, want a day in 2104", got)
	}
}

func TestRuleIsRefusedWithAReason(t *testing.T) {
	for _, tt := range []struct{ name, expr, zone, code, field, want string }{
		{"minute 61", "61 * * * *", "UTC", "bad_time", "cron", "minute 61 is not between 0 and 59; write a value within these bounds"},
		{"hour 24", "0 24 * * *", "UTC", "bad_time", "cron", "hour 24 is not between 0 and 23; write a value within these bounds"},
		{"day 0", "0 0 0 * *", "UTC", "bad_time", "cron", "day of month 0 is not between 1 and 31; write a value within these bounds"},
		{"end of a range", "0 0 1-32 * *", "UTC", "bad_time", "cron", "day of month 32 is not between 1 and 31; write a value within these bounds"},
		{"month 13", "0 0 1 13 *", "UTC", "bad_time", "cron", "month 13 is not between 1 and 12; write a value within these bounds"},
		{"an unknown day", "0 0 * * funday", "UTC", "bad_time", "cron", `day of week "funday" is neither a number nor a name; known names: sun mon tue wed thu fri sat`},
		{"words", "every day at noon please", "UTC", "bad_time", "cron", `minute "every" is not a number; write 0 to 59, * or */2`},
		{"step 0", "*/0 * * * *", "UTC", "bad_time", "cron", `minute step "0" is not a positive number; write a step such as */15`},
		{"an empty entry", "1,,2 * * * *", "UTC", "bad_time", "cron", `minute "1,,2" has an empty entry; remove a comma`},
		{"six fields", "0 0 2 * * *", "UTC", "bad_time", "cron", `"0 0 2 * * *" has 6 fields; write five: minute, hour, day of month, month and day of week`},
		{"none", " ", "UTC", "bad_time", "cron", "is missing; write five fields such as 30 2 * * *"},
		{"30 February", "0 0 30 2 *", "UTC", "bad_time", "cron", `"0 0 30 2 *" never fires; no month that it names has such a day`},
		{"31 of short months", "0 0 31 4,6,9,11 *", "UTC", "bad_time", "cron", `"0 0 31 4,6,9,11 *" never fires; no month that it names has such a day`},
		{"an interval", "@every 1h", "UTC", "bad_time", "cron", "@every has no fixed times; write which minutes or hours, such as */15 * * * *"},
		{"unknown short form", "@fortnightly", "UTC", "bad_time", "cron", `"@fortnightly" is unknown; write @hourly, @daily, @weekly, @monthly, @yearly, or five fields`},
		{"a zone inside", "CRON_TZ=UTC 0 0 * * *", "UTC", "bad_time", "cron", "names a time zone; write the zone in the field zone"},
		{"no zone", "0 0 * * *", "", "bad_time", "zone", "is missing; name a time zone such as Europe/Berlin or UTC"},
		{"an unknown zone", "0 0 * * *", "Europe/Munchen", "bad_time", "zone", `"Europe/Munchen" is not a time zone; write a name of the time zone database such as Europe/Berlin or UTC`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseRule(tt.expr, tt.zone)
			wantField(t, err, tt.code, tt.field, tt.want)
		})
	}
}

func TestAnyTextIsARuleThatFiresOrAnError(t *testing.T) {
	now := moment(t, "2026-01-10T12:00:00Z")
	rapid.Check(t, func(t *rapid.T) {
		expr := strings.Join(rapid.SliceOfN(rapid.StringMatching(`[0-9*/,?LW#Hh-]{1,6}|\*|[0-9]{1,2}|mon|JAN|99999999999`), 1, 6).Draw(t, "fields"), " ")
		r, err := ParseRule(expr, "America/New_York")
		if err != nil {
			return
		}
		if at := r.Next(now); !at.After(now) {
			t.Fatalf("%q: Next = %v", expr, at)
		}
	})
}

// changes are days on and around which clocks change, by zone.
var changes = []struct{ zone, day string }{
	{"Europe/Berlin", "2026-03-29"},
	{"Europe/Berlin", "2026-10-25"},
	{"America/New_York", "2026-03-08"},
	{"America/New_York", "2026-11-01"},
	{"Australia/Lord_Howe", "2026-04-05"},
	{"Australia/Lord_Howe", "2026-10-04"},
	{"America/Sao_Paulo", "2018-02-18"},
	{"America/Sao_Paulo", "2018-11-04"},
	{"Pacific/Apia", "2011-12-30"},
	{"Africa/Cairo", "2026-04-24"},
	{"America/Havana", "2026-11-01"},
	{"Asia/Kolkata", "2026-03-29"},
	{"UTC", "2026-03-29"},
}

// watchClock is the slow way: it looks at the clock of a zone each minute and
// fires by the rules of the package comment.
func watchClock(loc *time.Location, from, to time.Time, minutes, hours []int, daily func(time.Time) bool) (slots []time.Time) {
	matches := func(w time.Time) bool {
		return daily(w) && slices.Contains(minutes, w.Minute()) && (len(hours) == 24 || slices.Contains(hours, w.Hour()))
	}
	shown := map[time.Time]bool{}
	last := time.Time{}
	for at := from.Add(-6 * time.Hour); !at.After(to); at = at.Add(time.Minute) {
		_, offset := at.In(loc).Zone()
		wall := at.UTC().Add(time.Duration(offset) * time.Second)
		fires := matches(wall) && (len(hours) == 24 || !shown[wall])
		for left := last.Add(time.Minute); !last.IsZero() && left.Before(wall); left = left.Add(time.Minute) {
			fires = fires || len(hours) < 24 && matches(left)
		}
		if shown[wall], last = true, wall; fires && at.After(from) {
			slots = append(slots, at)
		}
	}
	return slots
}

func list(ns []int) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(ns), " ", ","), "[]") }

func TestRuleFiresAsIfSomebodyWatchedTheClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(changes).Draw(t, "change")
		loc := zoneOf(c.zone)
		day, _ := time.Parse(time.DateOnly, c.day)
		from := day.Add(-36*time.Hour + time.Duration(rapid.IntRange(0, 36*60).Draw(t, "begins"))*time.Minute)
		to := day.Add(36 * time.Hour)
		minutes := rapid.SliceOfNDistinct(rapid.IntRange(0, 59), 1, 5, rapid.ID).Draw(t, "minutes")
		expr := list(minutes)
		hours := rapid.SliceOfNDistinct(rapid.IntRange(0, 23), 1, 24, rapid.ID).Draw(t, "hours")
		if rapid.Bool().Draw(t, "every hour") {
			for hours = nil; len(hours) < 24; {
				hours = append(hours, len(hours))
			}
		}
		expr += " " + list(hours)
		daily := func(time.Time) bool { return true }
		if rapid.Bool().Draw(t, "one day only") {
			daily = func(w time.Time) bool { return w.Day() == day.Day() }
			expr += fmt.Sprintf(" %d * *", day.Day())
		} else {
			expr += " * * *"
		}
		r, err := ParseRule(expr, c.zone)
		if err != nil {
			t.Fatal(err)
		}
		got := Slots(r, from.Add(1), to, 1<<20)
		want := watchClock(loc, from, to, minutes, hours, daily)
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Fatalf("%s in %s from %v:\n got %v\nwant %v", expr, c.zone, from, got, want)
		}
	})
}

func zoneOf(name string) *time.Location {
	loc, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return loc
}
