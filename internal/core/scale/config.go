package scale

import (
	"cmp"
	"fmt"
	"time"
)

// Config holds an operator's settings for a lane. The zero value works.
type Config struct {
	// Min and Max bound the workers. Defaults 1 and 64. Only an override goes below Min.
	Min, Max int
	// Drain is the time in which a backlog is worked off that piled up because workers were
	// late; a backlog that arrived at once takes a sixth of it. Default 15s.
	Drain time.Duration
	// Timetable holds workers ready at certain hours of the week.
	Timetable Timetable
	// Override is a number of workers set by an operator, if it has not expired.
	Override Override
	// Paused holds the lane at the workers that it has.
	Paused bool
}

// Constants of all policies. The targets in docs/experiments.md were reached with these values.
const (
	// target is the share of time a worker of a large pool should be busy; small
	// pools, under 40 workers, are kept idler.
	target = 0.8
	// window is how far release looks back: it keeps the highest wish within it.
	window = time.Minute
	// cooldown is the shortest time between growth and release. Each change of direction
	// doubles it, up to eight times; it falls back over time.
	cooldown = 30 * time.Second
	// slotWait is the wait for a worker above which a busy lane grows.
	slotWait = 250 * time.Millisecond
)

// Override is a number of workers set by an operator.
type Override struct {
	// Workers is the number to have, from 0 to Config.Max.
	Workers int
	// Until is when the override ends, in Unix nanoseconds. 0 means no override.
	Until int64
	// Why is the operator's reason, for display.
	Why string
}

func (c Config) withDefaults() Config {
	c.Min = cmp.Or(c.Min, 1)
	c.Max = cmp.Or(c.Max, max(64, c.Min))
	c.Drain = cmp.Or(c.Drain, 15*time.Second)
	return c
}

// Validate returns an error that names the first field that is out of bounds. Policies require
// a valid Config.
func (c Config) Validate() error {
	d := c.withDefaults()
	switch {
	case d.Min < 1:
		return fmt.Errorf("min is %d: a lane keeps at least 1 worker; leave it out for 1", c.Min)
	case d.Max < d.Min:
		return fmt.Errorf("max is %d, below min %d: raise max or lower min", d.Max, d.Min)
	case d.Drain < time.Second:
		return fmt.Errorf("drain is %v: give at least 1s", c.Drain)
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
