package dashboard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/weirhq/weir/api"
)

// plainRule is a rule as a form has it: a choice and its values.
type plainRule struct{ every, time, weekday, day, cron string }

var everies = []option{{"day", "Every day"}, {"weekdays", "Monday to Friday"}, {"week", "Every week"}, {"month", "Every month"},
	{"hour", "Every hour"}, {"own", "By a rule of your own"}, {"once", "Once"}}

var weekdays = []option{{"1", "Monday"}, {"2", "Tuesday"}, {"3", "Wednesday"}, {"4", "Thursday"}, {"5", "Friday"}, {"6", "Saturday"}, {"0", "Sunday"}}

// rule returns the rule as cron, or which field is wrong and why.
func (p plainRule) rule() (cron, field, fault string) {
	if p.every == "own" {
		if p.cron == "" {
			return "", "cron", "Write a rule of five fields, such as 0 9 * * 1."
		}
		return p.cron, "", ""
	}
	if p.every == "hour" {
		return "0 * * * *", "", ""
	}
	var hour, minute int
	if n, err := fmt.Sscanf(p.time, "%d:%d", &hour, &minute); err != nil || n != 2 || hour < 0 || hour > 23 || minute < 0 || minute > 59 {
		return "", "time", "Write a time of day, such as 09:00."
	}
	at := fmt.Sprintf("%d %d ", minute, hour)
	switch p.every {
	case "weekdays":
		return at + "* * 1-5", "", ""
	case "week":
		if nameOf(weekdays, p.weekday) == p.weekday {
			return "", "weekday", "Choose a weekday."
		}
		return at + "* * " + p.weekday, "", ""
	case "month":
		day, err := strconv.Atoi(p.day)
		if err != nil || day < 1 || day > 31 {
			return "", "day", "Write a day of the month, 1 to 31."
		}
		return at + strconv.Itoa(day) + " * *", "", ""
	}
	return at + "* * *", "", ""
}

// fixed is a rule with one time of day.
var fixed = regexp.MustCompile(`^(\d{1,2}) (\d{1,2}) (\*|\d{1,2}) \* (\*|[0-7]|1-5)$`)

// steps is a rule that divides every hour evenly.
var steps = regexp.MustCompile(`^\*/([2-6]|10|12|15|20|30) \* \* \* \*$`)

// plainOf returns the plain rule of a cron expression; one that the form has no words for is an own rule.
func plainOf(cron string) plainRule {
	cron = strings.Join(strings.Fields(cron), " ")
	switch {
	case cron == "":
		return plainRule{every: "day", time: "09:00", weekday: "1", day: "1"}
	case cron == "0 * * * *":
		return plainRule{every: "hour", weekday: "1", day: "1", cron: cron}
	}
	m := fixed.FindStringSubmatch(cron)
	if m == nil || m[3] != "*" && m[4] != "*" {
		return plainRule{every: "own", weekday: "1", day: "1", cron: cron}
	}
	minute, _ := strconv.Atoi(m[1]) // digits
	hour, _ := strconv.Atoi(m[2])
	p := plainRule{every: "day", time: fmt.Sprintf("%02d:%02d", hour, minute), weekday: "1", day: "1", cron: cron}
	switch {
	case m[3] != "*":
		p.every, p.day = "month", m[3]
	case m[4] == "1-5":
		p.every = "weekdays"
	case m[4] != "*":
		p.every, p.weekday = "week", strings.Replace(m[4], "7", "0", 1)
	}
	return p
}

// whenOf says in words when a schedule fires, with its zone.
func whenOf(s *api.Schedule) string {
	if s.At != "" {
		return "Once"
	}
	p := plainOf(s.Cron)
	zone := s.Zone
	if zone == "" {
		zone = "UTC"
	}
	text := "By its own rule"
	if m := steps.FindStringSubmatch(p.cron); m != nil {
		text = "Every " + m[1] + " minutes"
	}
	switch p.every {
	case "hour":
		text = "Every hour"
	case "day":
		text = "Every day " + p.time
	case "weekdays":
		text = "Monday to Friday " + p.time
	case "week":
		text = nameOf(weekdays, p.weekday) + "s " + p.time
	case "month":
		text = "Day " + p.day + " of the month " + p.time
	}
	return text + ", " + zone
}

// strictly reads JSON, and refuses members that do not exist.
func strictly(raw []byte, into any) error {
	in := json.NewDecoder(bytes.NewReader(raw))
	in.DisallowUnknownFields()
	if err := in.Decode(into); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after the value")
	}
	return nil
}
