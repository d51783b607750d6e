package scale

import (
	"cmp"
	"fmt"
	"time"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// Timetable lists the reserves of a week. Where entries overlap, the largest counts.
type Timetable []Reserve

// Reserve keeps workers ready during one span of every week.
type Reserve struct {
	// Day and At are the start: At is wall clock time since midnight.
	Day time.Weekday
	At  time.Duration
	// For is how long it lasts. Default 1h, at most a week.
	For time.Duration
	// Workers is the least number of workers meanwhile.
	Workers int
	// Zone is the time zone of the wall clock. Default UTC.
	Zone *time.Location
}

func (r Reserve) validate(most int) error {
	switch {
	case r.Day < time.Sunday || r.Day > time.Saturday:
		return fmt.Errorf("day is %d: give 0 (Sunday) to 6 (Saturday)", int(r.Day))
	case r.At < 0 || r.At >= day || r.At%time.Second != 0:
		return fmt.Errorf("at is %v: give a time of day in whole seconds, 0h to under 24h", r.At)
	case r.For < 0 || r.For > week || r.For%time.Second != 0:
		return fmt.Errorf("for is %v: give whole seconds, at most a week, 168h", r.For)
	case r.Workers < 1 || r.Workers > most:
		return fmt.Errorf("workers is %d: give 1 to max, which is %d", r.Workers, most)
	}
	return nil
}

func (r Reserve) zone() *time.Location { return cmp.Or(r.Zone, time.UTC) }

// holds reports whether now lies within the reserve.
func (r Reserve) holds(now int64) bool {
	length := cmp.Or(r.For, time.Hour)
	t := time.Unix(0, now).In(r.zone())
	if since := r.since(t); since > length+shift && since < week-shift {
		return false // clearly not, which is the case for most of the week
	}
	back := (int(t.Weekday()) - int(r.Day) + 7) % 7
	// The calendar does the sum, because not every day has 24 hours.
	begin := func(back int) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day()-back, 0, int(r.At/time.Minute), int(r.At%time.Minute/time.Second), 0, r.zone())
	}
	from := begin(back)
	if from.After(t) {
		from = begin(back + 7)
	}
	return t.Sub(from) < length
}

// shift is more than any change of a clock, such as daylight saving time.
const shift = 3 * time.Hour

// since returns the time since the last start if all days had 24 hours.
func (r Reserve) since(t time.Time) time.Duration {
	hour, minute, second := t.Clock()
	clock := time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second
	return (time.Duration(t.Weekday()-r.Day)*day + clock - r.At + 2*week) % week
}

// Reserved returns the most that the timetable asks for at now.
func (c Config) Reserved(now int64) int {
	n := 0
	for _, r := range c.Timetable {
		if r.Workers > n && r.holds(now) {
			n = r.Workers
		}
	}
	return n
}
