package scale

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// reserveForm describes the form of a timetable entry, for error messages.
const reserveForm = `an entry looks like "Fri 20:00 64", "Fri 20:00-23:30 64" or "Fri 20:00-Sat 02:00 64 Europe/Berlin"`

// ParseTimetable reads entries separated by semicolons, each a weekday, a time or
// a span, the workers to keep ready and, if it is not UTC, a time zone:
//
//	Fri 20:00 64; Sat 09:00-12:30 16 Europe/Berlin; Sun 22:00-Mon 06:00 8
//
// Without an end an entry lasts an hour; an end that is not after the start is on the next day.
// An empty text is an empty timetable. Time zones are looked up by name.
func ParseTimetable(text string) (Timetable, error) {
	var t Timetable
	for entry := range strings.SplitSeq(text, ";") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		r, err := parseReserve(entry)
		if err != nil {
			return nil, fmt.Errorf("timetable entry %d, %q: %w", len(t)+1, strings.TrimSpace(entry), err)
		}
		t = append(t, r)
	}
	return t, nil
}

// parseReserve reads one entry.
func parseReserve(entry string) (r Reserve, err error) {
	// "20:00 - 23:30" means the same as "20:00-23:30".
	fields := strings.Fields(strings.ReplaceAll(strings.Join(strings.Fields(entry), " "), " - ", "-"))
	if len(fields) < 3 {
		return Reserve{}, errors.New("day, time and workers are needed: " + reserveForm)
	}
	if r.Day, err = parseDay(fields[0]); err != nil {
		return Reserve{}, err
	}
	from, to, hasEnd := strings.Cut(fields[1], "-")
	if r.At, err = parseClock(from); err != nil {
		return Reserve{}, err
	}
	rest := fields[2:]
	if hasEnd {
		if r.For, rest, err = r.parseEnd(to, rest); err != nil {
			return Reserve{}, err
		}
	}
	if len(rest) == 0 {
		return Reserve{}, errors.New("the number of workers is missing: " + reserveForm)
	}
	if r.Workers, err = strconv.Atoi(rest[0]); err != nil || r.Workers < 1 {
		return Reserve{}, fmt.Errorf("%q is not a number of workers, give 1 or more: %s", rest[0], reserveForm)
	}
	switch len(rest) {
	case 1:
		return r, nil
	case 2:
		r.Zone, err = parseZone(rest[1])
		return r, err
	}
	return Reserve{}, fmt.Errorf("%q is too much: %s", strings.Join(rest[2:], " "), reserveForm)
}

// parseEnd reads the end of a span, "23:30" or a day and, as the next field, its
// time, and returns the length of the span and the fields that are left.
func (r Reserve) parseEnd(to string, rest []string) (time.Duration, []string, error) {
	if at, err := parseClock(to); err == nil {
		if at <= r.At {
			at += day
		}
		return at - r.At, rest, nil
	} else if to == "" || to[0] >= '0' && to[0] <= '9' {
		return 0, nil, err
	}
	weekday, err := parseDay(to)
	if err != nil {
		return 0, nil, err
	}
	if len(rest) == 0 {
		return 0, nil, fmt.Errorf("the end %q lacks a time of day: %s", to, reserveForm)
	}
	at, err := parseClock(rest[0])
	if err != nil {
		return 0, nil, err
	}
	length := (time.Duration(weekday-r.Day)*day + at - r.At + week) % week
	if length == 0 {
		length = week
	}
	return length, rest[1:], nil
}

// parseDay reads a weekday, in full or its first three letters.
func parseDay(text string) (time.Weekday, error) {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if strings.EqualFold(text, d.String()) || strings.EqualFold(text, d.String()[:3]) {
			return d, nil
		}
	}
	return 0, fmt.Errorf("%q is not a weekday, give Mon, Tue, Wed, Thu, Fri, Sat or Sun: %s", text, reserveForm)
}

// parseClock reads a time of day, with seconds or without.
func parseClock(text string) (time.Duration, error) {
	for _, form := range []string{"15:04", "15:04:05"} {
		if t, err := time.Parse(form, text); err == nil {
			return t.Sub(t.Truncate(day)), nil
		}
	}
	return 0, fmt.Errorf("%q is not a time of day, give 00:00 to 23:59: %s", text, reserveForm)
}

// parseZone looks up a time zone. The zone of the machine is refused: the nodes of one cluster
// would read different times.
func parseZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || zone == time.Local {
		return nil, fmt.Errorf("%q is not a time zone that is known here, give a name such as Europe/Berlin, or leave it "+
			"out for UTC", name)
	}
	if zone == time.UTC {
		return nil, nil
	}
	return zone, nil
}

// String returns the timetable in the form that [ParseTimetable] reads.
func (t Timetable) String() string {
	var entries []string
	for _, r := range t {
		entries = append(entries, r.String())
	}
	return strings.Join(entries, "; ")
}

// String returns the entry in the form that [ParseTimetable] reads.
func (r Reserve) String() string {
	text := short(r.Day) + " " + clock(r.At)
	end := r.At + r.For
	switch {
	case r.For == 0:
	case r.For < day:
		text += "-" + clock(end%day)
	default:
		text += "-" + short((r.Day+time.Weekday(end/day))%7) + " " + clock(end%day)
	}
	text += " " + strconv.Itoa(r.Workers)
	if zone := r.zone(); zone != time.UTC {
		text += " " + zone.String()
	}
	return text
}

func short(d time.Weekday) string { return d.String()[:3] }

// clock formats a time of day, with seconds only if they are not 0.
func clock(at time.Duration) string {
	form := "15:04"
	if at%time.Minute != 0 {
		form = "15:04:05"
	}
	return time.Time{}.Add(at).Format(form)
}
