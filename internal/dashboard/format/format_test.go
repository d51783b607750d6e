package format

import (
	"math"
	"strings"
	"testing"
	"time"
)

func plain(s string) string { return strings.ReplaceAll(s, nb, " ") }

func TestNumbersAreWrittenForPeople(t *testing.T) {
	for want, got := range map[string]string{
		"0": Count(0), "999": Count(999), "1,000": Count(1000), "999,412": Count(999412), "−12,004": Count(-12004),
		"1 item": Items(1), "12,004 items": Items(12004), "0 items": Items(0),
		"0 %": Share(0, 10), "100 %": Share(10, 10), "36.6 %": Share(365793, 999412), "23 %": Share(3, 13), "0.5 %": Share(1, 200), "99.6 %": Share(299, 300), "0.07 %": Percent(0.00071),
		"99.99 %": Share(999999, 1000000), "under 0.01 %": Share(1, 1000000), "50.0 %": Percent(0.5), "29.0 %": Percent(0.29),
		"299/s": Rate(299.2), "0.5/s": Rate(0.5), "0/s": Rate(0), "1,798/s": Rate(1798), "1,570,000/s": Speed(1566576), "9,999/s": Speed(9999.4), "12,300/s": Speed(12345), "unlimited": Rate(math.Inf(1)),
		"340 B": Bytes(340), "1.2 MB": Bytes(1234567), "340 kB": Bytes(340_000),
	} {
		if plain(got) != want {
			t.Errorf("got %q, want %q", plain(got), want)
		}
	}
}

func TestOnlyAllOfItIsAHundredPerCent(t *testing.T) {
	for whole := int64(1); whole < 3_000_000; whole = whole*3 + 1 {
		if got := Share(whole-1, whole); strings.HasPrefix(got, "100") {
			t.Errorf("%d of %d is %s", whole-1, whole, got)
		}
	}
}

func TestDurationsHaveTwoUnitsAtMost(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"20 s": 19820 * time.Millisecond, "1 min": 59900 * time.Millisecond, "10 s": 9970 * time.Millisecond,
		"212 ms": 212 * time.Millisecond, "4.1 s": 4130 * time.Millisecond, "4 s": 4 * time.Second, "34 s": 34 * time.Second,
		"2 min": 2 * time.Minute, "2 min 5 s": 125 * time.Second, "35 min": 35*time.Minute + 14*time.Second,
		"1 h 7 min": 67 * time.Minute, "3 d 2 h": 74*time.Hour + time.Minute, "0 s": -time.Second,
	} {
		if got := plain(Duration(d)); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestTimesAreInTheZoneOfTheViewer(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	c := Clock{Zone: berlin, Now: time.Date(2026, 11, 15, 13, 51, 26, 0, time.UTC)}
	for want, got := range map[string]string{
		"14:31":              c.Time(time.Date(2026, 11, 15, 13, 31, 0, 0, time.UTC)),
		"14:31:07":           c.Seconds(time.Date(2026, 11, 15, 13, 31, 7, 0, time.UTC)),
		"9 Nov 01:04":        c.Time(time.Date(2026, 11, 9, 0, 4, 0, 0, time.UTC)),
		"15 Nov 2025 14:31":  c.Time(time.Date(2025, 11, 15, 13, 31, 0, 0, time.UTC)),
		"16 Nov 00:30":       c.Time(time.Date(2026, 11, 15, 23, 30, 0, 0, time.UTC)),
		"–":                  c.Time(time.Time{}),
		"20 min ago":         c.Ago(time.Date(2026, 11, 15, 13, 31, 0, 0, time.UTC)),
		"just now":           c.Ago(c.Now),
		"14:31–15:02":        c.Between(time.Date(2026, 11, 15, 13, 31, 50, 0, time.UTC), time.Date(2026, 11, 15, 14, 2, 1, 0, time.UTC)),
		"14:30":              c.Between(time.Date(2026, 11, 15, 13, 30, 1, 0, time.UTC), time.Date(2026, 11, 15, 13, 30, 40, 0, time.UTC)),
		"23:50–16 Nov 00:10": c.Between(time.Date(2026, 11, 15, 22, 50, 0, 0, time.UTC), time.Date(2026, 11, 15, 23, 10, 0, 0, time.UTC)),
		"17 Nov 10:00–11:30": c.Between(time.Date(2026, 11, 17, 9, 0, 0, 0, time.UTC), time.Date(2026, 11, 17, 10, 30, 0, 0, time.UTC)),
		"9 Nov 01:04:09":     c.Seconds(time.Date(2026, 11, 9, 0, 4, 9, 0, time.UTC)),
	} {
		if plain(got) != want {
			t.Errorf("got %q, want %q", plain(got), want)
		}
	}
}
