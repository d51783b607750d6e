package chart

import (
	"testing"
	"time"
)

func TestTimesOfAnAxisAreRound(t *testing.T) {
	delhi := time.FixedZone("Delhi", 5*3600+1800)
	from := time.Date(2030, 1, 2, 20, 11, 7, 0, time.UTC)
	for _, tt := range []struct {
		name  string
		span  time.Duration
		zone  *time.Location
		first string
		every time.Duration
	}{
		{"twenty seconds", 20 * time.Second, time.UTC, "20:11:10", 5 * time.Second},
		{"five minutes", 5 * time.Minute, time.UTC, "20:12:00", 2 * time.Minute},
		{"an hour", time.Hour, time.UTC, "20:15:00", 15 * time.Minute},
		{"a day, in a zone of half an hour", 24 * time.Hour, delhi, "06:00:00", 6 * time.Hour},
		{"a month", 31 * 24 * time.Hour, time.UTC, "00:00:00", 8 * 24 * time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := roundTimes(from, from.Add(tt.span), tt.zone)
			if len(got) < 2 || len(got) > mostTimes {
				t.Fatalf("%d times, want 2 to %d: %v", len(got), mostTimes, got)
			}
			if first := got[0].In(tt.zone).Format("15:04:05"); first != tt.first {
				t.Errorf("the first time is %s, want %s", first, tt.first)
			}
			for i := 1; i < len(got); i++ {
				if d := got[i].Sub(got[i-1]); d != tt.every {
					t.Errorf("times %v apart, want %v", d, tt.every)
				}
			}
		})
	}
	if got := roundTimes(from, from, time.UTC); len(got) > 1 {
		t.Errorf("times of no span: %v", got)
	}
}
