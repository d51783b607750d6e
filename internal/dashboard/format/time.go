package format

import (
	"strconv"
	"time"
)

// Duration writes a span with two units at most: 212 ms, 4.1 s, 35 min, 1 h 7 min, 3 d 2 h.
func Duration(d time.Duration) string {
	switch { // below a minute it is rounded, which may reach the next unit; above, it counts what has passed
	case d >= 10*time.Second && d < time.Minute:
		d = d.Round(time.Second)
	case d >= time.Second && d < 10*time.Second:
		d = d.Round(100 * time.Millisecond)
	case d >= 0 && d < time.Second:
		d = d.Round(time.Millisecond)
	}
	switch {
	case d < 0:
		return "0" + nb + "s"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + nb + "ms"
	case d < 10*time.Second:
		tenths := int64(d / (100 * time.Millisecond))
		text := strconv.FormatInt(tenths/10, 10)
		if tenths%10 != 0 {
			text += "." + strconv.FormatInt(tenths%10, 10)
		}
		return text + nb + "s"
	case d < time.Minute:
		return strconv.FormatInt(int64(d/time.Second), 10) + nb + "s"
	case d < 10*time.Minute:
		return two(d, time.Minute, "min", time.Second, "s")
	case d < time.Hour:
		return strconv.FormatInt(int64(d/time.Minute), 10) + nb + "min"
	case d < 24*time.Hour:
		return two(d, time.Hour, "h", time.Minute, "min")
	}
	return two(d, 24*time.Hour, "d", time.Hour, "h")
}

func two(d, large time.Duration, largeUnit string, small time.Duration, smallUnit string) string {
	text := strconv.FormatInt(int64(d/large), 10) + nb + largeUnit
	if rest := d % large / small; rest > 0 {
		text += " " + strconv.FormatInt(int64(rest), 10) + nb + smallUnit
	}
	return text
}

// Clock writes times in the zone of a viewer, as of a moment.
type Clock struct {
	Zone *time.Location
	Now  time.Time
}

// Time writes a time of day, with the date if it is not today's and the year if it is another.
func (c Clock) Time(t time.Time) string { return c.write(t, "15:04") }

// Between writes two times as a range, 15:07–15:14, and one if they read the same. The date of a day is written once.
func (c Clock) Between(from, to time.Time) string {
	a, b := c.Time(from), c.Time(to)
	if a == b {
		return a
	}
	from, to = from.In(c.Zone), to.In(c.Zone)
	if from.Year() == to.Year() && from.YearDay() == to.YearDay() {
		b = to.Format("15:04")
	}
	return a + "–" + b
}

// Seconds is Time with seconds, for logs.
func (c Clock) Seconds(t time.Time) string { return c.write(t, "15:04:05") }

func (c Clock) write(t time.Time, of string) string {
	if t.IsZero() {
		return "–"
	}
	t, now := t.In(c.Zone), c.Now.In(c.Zone)
	switch {
	case t.Year() != now.Year():
		return t.Format("2" + nb + "Jan" + nb + "2006 " + of)
	case t.YearDay() != now.YearDay():
		return t.Format("2" + nb + "Jan " + of)
	}
	return t.Format(of)
}

// Ago writes how long ago a time was.
func (c Clock) Ago(t time.Time) string {
	if d := c.Now.Sub(t); d >= time.Second {
		return Duration(d.Truncate(time.Second)) + " ago"
	}
	return "just now"
}
