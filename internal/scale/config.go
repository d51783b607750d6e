package scale

import (
	"cmp"
	"fmt"
	"time"
)

// Config is what an operator may set for a lane. The zero value works.
type Config struct {
	// Min and Max bound the workers. Defaults 1 and 64. Only an override goes below Min.
	Min, Max int
	// Target is the share of time a worker should be busy. Default 0.8; over 0, at most 1.
	Target float64
	// Drain is the time over which a backlog is worked off. Default 30s.
	Drain time.Duration
	// Window is how far release looks back: the highest wish in it counts. Default 60s, at most 60s.
	Window time.Duration
	// Cooldown is the shortest time between growth and release; each change of mind
	// doubles it, up to eight times, and calm brings it back. Default 30s.
	Cooldown time.Duration
	// SlotWait is the wait for a worker above which a busy lane grows. Default 250ms.
	SlotWait time.Duration
	// Timetable holds workers ready at certain hours of the week.
	Timetable []Reserve
	// Override, if it has not expired, is what a person asked for.
	Override Override
	// Paused holds the lane at the workers that it has.
	Paused bool
}

// Override is a number of workers set by hand.
type Override struct {
	// Workers is how many there shall be, from 0 to Config.Max.
	Workers int
	// Until is when the override ends, in Unix nanoseconds. 0 means there is none.
	Until int64
	// Why is for the people who come across it.
	Why string
}

// Reserve keeps workers ready during one span of every week.
type Reserve struct {
	// Day and At say when it begins: At is the wall clock, as time since midnight.
	Day time.Weekday
	At  time.Duration
	// For is how long it lasts. Default 1h, at most a week.
	For time.Duration
	// Workers is the least number of workers meanwhile.
	Workers int
	// Zone is where the wall clock hangs. Default UTC.
	Zone *time.Location
}

const week = 7 * 24 * time.Hour

func (c Config) withDefaults() Config {
	c.Min = cmp.Or(c.Min, 1)
	c.Max = cmp.Or(c.Max, max(64, c.Min))
	c.Target = cmp.Or(c.Target, 0.8)
	c.Drain = cmp.Or(c.Drain, 30*time.Second)
	c.Window = cmp.Or(c.Window, time.Minute)
	c.Cooldown = cmp.Or(c.Cooldown, 30*time.Second)
	c.SlotWait = cmp.Or(c.SlotWait, 250*time.Millisecond)
	return c
}

// Validate returns an error that names the first field that is out of bounds.
// Policies take a valid Config for granted.
func (c Config) Validate() error {
	d := c.withDefaults()
	switch {
	case d.Min < 1:
		return fmt.Errorf("min is %d: a lane keeps at least 1 worker; leave it out for 1", c.Min)
	case d.Max < d.Min:
		return fmt.Errorf("max is %d, below min %d: raise max or lower min", d.Max, d.Min)
	case !(d.Target > 0 && d.Target <= 1): // written so that NaN fails, too
		return fmt.Errorf("target is %v: give a share over 0 and at most 1, such as 0.8", c.Target)
	case d.Drain < time.Second:
		return fmt.Errorf("drain is %v: give at least 1s", c.Drain)
	case d.Window < time.Second || d.Window > time.Minute:
		return fmt.Errorf("window is %v: give 1s to 60s", c.Window)
	case d.Cooldown < 0:
		return fmt.Errorf("cooldown is %v: give a positive time", c.Cooldown)
	case d.SlotWait < 0:
		return fmt.Errorf("slot wait is %v: give a positive time", c.SlotWait)
	case c.Override.Until != 0 && (c.Override.Workers < 0 || c.Override.Workers > d.Max):
		return fmt.Errorf("override asks for %d workers: give 0 to max, which is %d", c.Override.Workers, d.Max)
	}
	for i, r := range c.Timetable {
		if err := r.validate(d.Max); err != nil {
			return fmt.Errorf("timetable entry %d: %w", i+1, err)
		}
	}
	return nil
}

func (r Reserve) validate(most int) error {
	switch {
	case r.Day < time.Sunday || r.Day > time.Saturday:
		return fmt.Errorf("day is %d: give 0 (Sunday) to 6 (Saturday)", int(r.Day))
	case r.At < 0 || r.At >= 24*time.Hour:
		return fmt.Errorf("at is %v: give a time of day, 0h to under 24h", r.At)
	case r.For < 0 || r.For > week:
		return fmt.Errorf("for is %v: give at most a week, 168h", r.For)
	case r.Workers < 1 || r.Workers > most:
		return fmt.Errorf("workers is %d: give 1 to max, which is %d", r.Workers, most)
	}
	return nil
}

// holds reports whether now lies within the reserve.
func (r Reserve) holds(now int64) bool {
	zone := r.Zone
	if zone == nil {
		zone = time.UTC
	}
	t := time.Unix(0, now).In(zone)
	back := (int(t.Weekday()) - int(r.Day) + 7) % 7
	// The calendar does the sum, because not every day has 24 hours.
	begin := func(back int) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day()-back, 0, int(r.At/time.Minute), int(r.At%time.Minute/time.Second), 0, zone)
	}
	from := begin(back)
	if from.After(t) {
		from = begin(back + 7)
	}
	return t.Sub(from) < cmp.Or(r.For, time.Hour)
}

// reserved is the most that the timetable asks for at now.
func (c Config) reserved(now int64) int {
	n := 0
	for _, r := range c.Timetable {
		if r.Workers > n && r.holds(now) {
			n = r.Workers
		}
	}
	return n
}
