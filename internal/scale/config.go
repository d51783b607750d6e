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
	// Target is the share of time a worker of a large pool should be busy; small
	// pools, under 40 workers, are kept idler. Default 0.8; over 0, at most 1.
	Target float64
	// Drain is the time over which a backlog is worked off that piled up because
	// workers were late; what arrived at once takes a sixth of it. Default 15s.
	Drain time.Duration
	// Window is how far release looks back: the highest wish in it counts. Default 60s, at most 60s.
	Window time.Duration
	// Cooldown is the shortest time between growth and release; each change of mind
	// doubles it, up to eight times, and calm brings it back. Default 30s.
	Cooldown time.Duration
	// SlotWait is the wait for a worker above which a busy lane grows. Default 250ms.
	SlotWait time.Duration
	// Timetable holds workers ready at certain hours of the week.
	Timetable Timetable
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

func (c Config) withDefaults() Config {
	c.Min = cmp.Or(c.Min, 1)
	c.Max = cmp.Or(c.Max, max(64, c.Min))
	c.Target = cmp.Or(c.Target, 0.8)
	c.Drain = cmp.Or(c.Drain, 15*time.Second)
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
