package schedule

import (
	"fmt"
	"strings"
	"time"

	"github.com/weirhq/weir"
)

const (
	// PastGrace is how far in the past a start may lie, to allow for slow requests.
	PastGrace = time.Minute
	// FutureYears is how far in the future a start may lie.
	FutureYears = 10
)

// How a local time is written, and how errors repeat it.
const (
	localMinutes = "2006-01-02T15:04"
	localSeconds = "2006-01-02T15:04:05"
)

// ParseStart parses the time at which something is to start: RFC 3339 with an offset, or a local
// time such as 2026-03-29T02:30 in an IANA zone. A local time that a clock change skips is
// refused; of one that occurs twice the first is used, and note says so. Errors are
// [weir.FieldError]s about field, or about the zone beside it.
func ParseStart(field, text, zone string, now time.Time) (at time.Time, note string, err error) {
	if at, err = time.Parse(time.RFC3339, text); err == nil {
		if zone != "" { // not needed, but it must be valid
			if _, err := loadZone(beside(field), zone); err != nil {
				return time.Time{}, "", err
			}
		}
	} else if at, note, err = parseLocal(field, text, zone); err != nil {
		return time.Time{}, "", err
	}
	if err := checkStart(field, at, now); err != nil {
		return time.Time{}, "", err
	}
	return at, note, nil
}

// beside returns the zone's field next to a field: schedule.start_at has schedule.zone.
func beside(field string) string {
	return field[:strings.LastIndexByte(field, '.')+1] + "zone"
}

// parseLocal parses a local time in a zone.
func parseLocal(field, text, zone string) (at time.Time, note string, err error) {
	wall, err := time.Parse(localMinutes, text)
	if err != nil {
		wall, err = time.Parse(localSeconds, text)
	}
	if err != nil {
		return at, "", badTime(field, fmt.Sprintf("%q is not a time", shorten(text)),
			"write 2026-03-29T12:30:00Z, 2026-03-29T12:30:00+02:00, or 2026-03-29T12:30 and a zone")
	}
	if zone == "" {
		return at, "", badTime(field, fmt.Sprintf("%s has neither an offset nor a zone", text),
			"add Z or an offset such as +02:00, or name the zone, such as Europe/Berlin")
	}
	loc, err := loadZone(beside(field), zone)
	if err != nil {
		return at, "", err
	}
	at, what := momentOf(wall, loc)
	switch what {
	case skipped:
		next := nextWall(wall, at)
		return at, "", badTime(field, fmt.Sprintf("%s does not exist in %s; next is %s", text, zone, next), "write a time that exists")
	case doubled:
		note = fmt.Sprintf("%s occurs twice in %s; the first one is used, %s", text, zone, at.UTC().Format(time.RFC3339))
	case once:
	}
	return at, note, nil
}

// nextWall returns the wall-clock time after a gap, with the date if it differs from the requested
// one.
func nextWall(asked, at time.Time) string {
	if at.Day() == asked.Day() {
		return at.Format("15:04")
	}
	return at.Format(localMinutes)
}

// checkStart refuses a moment that has passed or is too far away.
func checkStart(field string, at, now time.Time) error {
	latest, fix := now.AddDate(FutureYears, 0, 0), "write a future time"
	if field != "at" { // a schedule needs a time, a bulk action does not
		fix += ", or leave it out to start now"
	}
	switch {
	case now.Sub(at) > PastGrace:
		return badTime(field, fmt.Sprintf("%s is in the past; it is now %s", at.Format(time.RFC3339),
			now.UTC().Format(time.RFC3339)), fix)
	case at.After(latest):
		return badTime(field, fmt.Sprintf("%s is more than %d years away", at.Format(time.RFC3339), FutureYears),
			fmt.Sprintf("write a time before %s", latest.UTC().Format(time.RFC3339)))
	}
	return nil
}

func badTime(field, problem, fix string) error {
	return &weir.FieldError{Code: codeTime, Field: field, Problem: problem, Fix: fix}
}
