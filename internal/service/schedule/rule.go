package schedule

import (
	"fmt"
	"strings"
	"time"

	cron "github.com/netresearch/go-cron"
)

// searchYears is how far ahead the next time of a rule is searched. Around the turn of most
// centuries two 29 Februaries are eight years apart, and no five fields are rarer.
const searchYears = 12

// everyHour is the set of all hours, a bit each.
const everyHour = 1<<24 - 1

// Times says when a schedule fires: a [Rule], or [Once].
type Times interface {
	// Next returns the first slot after a moment, the zero time if none follows.
	Next(after time.Time) time.Time
}

// Once is a schedule with a single slot.
type Once time.Time

// Next returns the moment itself, until it has passed.
func (o Once) Next(after time.Time) time.Time {
	if at := time.Time(o); after.Before(at) {
		return at
	}
	return time.Time{}
}

// Rule is a cron expression in a time zone. It does not change and may be shared.
type Rule struct {
	wall *cron.SpecSchedule // in UTC: it computes with wall-clock times, not with moments
	loc  *time.Location
	real bool // follows real time rather than times of day
}

// ParseRule parses five fields (minute, hour, day of month, month and day of week) or one of
// @yearly, @monthly, @weekly, @daily and @hourly, in an IANA zone. As in other crons, a rule that
// limits both kinds of day fires on either. An expression that never fires is refused. Errors are
// [weir.FieldError]s about cron or zone.
func ParseRule(expr, zone string) (*Rule, error) {
	loc, err := loadZone("zone", zone)
	if err != nil {
		return nil, err
	}
	expr = strings.ToLower(strings.TrimSpace(expr)) // the parser gives H another meaning
	if err := checkCron(expr); err != nil {
		return nil, err
	}
	parser := cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor | cron.DowOrDom).WithMaxSearchYears(searchYears)
	parsed, err := parser.Parse(expr)
	spec, ok := parsed.(*cron.SpecSchedule)
	switch {
	case err != nil && strings.HasPrefix(expr, "@"):
		return nil, badCron(fmt.Sprintf("%q is unknown", shorten(expr)),
			"write @hourly, @daily, @weekly, @monthly, @yearly, or five fields")
	case err != nil:
		return nil, badCron(err.Error(), "write five fields such as 30 2 * * *")
	case !ok:
		return nil, badCron(fmt.Sprintf("%q has no fixed times", shorten(expr)), "write five fields such as 30 2 * * *")
	}
	spec.Location = time.UTC
	r := &Rule{wall: spec, loc: loc, real: spec.Hour&everyHour == everyHour}
	if spec.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, badCron(fmt.Sprintf("%q never fires", shorten(expr)), "no month that it names has such a day")
	}
	return r, nil
}

// Next returns the first slot after a moment, in the rule's zone.
func (r *Rule) Next(after time.Time) time.Time {
	if r.real {
		return r.nextReal(after)
	}
	// All that the clocks showed up to now has had its slot at or before after, for
	// moments do not go back as times of day go on. What they are about to show again may have.
	for wall := wallOf(after, r.loc); ; {
		if wall = r.wall.Next(wall); wall.IsZero() {
			return wall
		}
		if at, _ := momentOf(wall, r.loc); at.After(after) {
			return at
		}
	}
}

// nextReal goes through the stretches between clock changes, in each of which the clock runs
// evenly.
func (r *Rule) nextReal(after time.Time) time.Time {
	for {
		local := after.In(r.loc)
		_, offset := local.Zone()
		_, end := local.ZoneBounds()
		wall := r.wall.Next(wallOf(after, r.loc))
		if wall.IsZero() {
			return wall
		}
		at := wall.Add(-time.Duration(offset) * time.Second)
		if end.IsZero() || at.Before(end) {
			return at.In(r.loc)
		}
		// The change may itself be a slot: begin just before it, with the clock that it sets.
		_, changed := end.Zone()
		wall = r.wall.Next(end.UTC().Add(time.Duration(changed)*time.Second - time.Second))
		if at = wall.Add(-time.Duration(changed) * time.Second); at.Equal(end) {
			return at.In(r.loc)
		}
		after = end
	}
}

// NextN returns the first n slots after a moment, fewer at the end.
func NextN(t Times, after time.Time, n int) []time.Time {
	var slots []time.Time
	for range n {
		if after = t.Next(after); after.IsZero() {
			break
		}
		slots = append(slots, after)
	}
	return slots
}

// Slots lists the slots from one moment to another, both included, up to limit of them.
func Slots(t Times, from, to time.Time, limit int) []time.Time {
	var slots []time.Time
	for at := t.Next(from.Add(-1)); !at.IsZero() && !at.After(to) && len(slots) < limit; at = t.Next(at) {
		slots = append(slots, at)
	}
	return slots
}
