package schedule

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weirhq/weir"
)

// cronField is one of the five fields of a cron expression.
type cronField struct {
	name      string
	low, high int
	names     string // of its values, from low on
}

// cronFields are the fields in the order in which they are written.
var cronFields = [...]cronField{
	{"minute", 0, 59, ""},
	{"hour", 0, 23, ""},
	{"day of month", 1, 31, ""},
	{"month", 1, 12, "jan feb mar apr may jun jul aug sep oct nov dec"},
	{"day of week", 0, 7, "sun mon tue wed thu fri sat"},
}

// checkCron checks for common mistakes and explains them in users' terms; the parser's own errors
// speak of ranges and bounds. expr is in lower case.
func checkCron(expr string) error {
	switch {
	case expr == "":
		return badCron("is missing", "write five fields such as 30 2 * * *")
	case strings.Contains(expr, "tz="):
		return badCron("names a time zone", "write the zone in the field zone")
	case strings.HasPrefix(expr, "@every"):
		return badCron("@every has no fixed times", "write which minutes or hours, such as */15 * * * *")
	case strings.HasPrefix(expr, "@"):
		return nil
	}
	parts := strings.Fields(expr)
	if len(parts) != len(cronFields) {
		return badCron(fmt.Sprintf("%q has %d fields", shorten(expr), len(parts)),
			"write five: minute, hour, day of month, month and day of week")
	}
	for i, f := range cronFields {
		if err := f.check(parts[i]); err != nil {
			return err
		}
	}
	return nil
}

// check checks one field: entries separated by commas.
func (f cronField) check(text string) error {
	for entry := range strings.SplitSeq(text, ",") {
		if entry == "" {
			return badCron(fmt.Sprintf("%s %q has an empty entry", f.name, shorten(text)), "remove a comma")
		}
		span, step, stepped := strings.Cut(entry, "/")
		if n, err := strconv.Atoi(step); stepped && (err != nil || n < 1) {
			return badCron(fmt.Sprintf("%s step %q is not a positive number", f.name, shorten(step)), "write a step such as */15")
		}
		if span == "*" || span == "?" {
			continue
		}
		from, to, ranged := strings.Cut(span, "-")
		if !ranged {
			to = from
		}
		for _, v := range []string{from, to} {
			if err := f.checkValue(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkValue checks a single number or name.
func (f cronField) checkValue(text string) error {
	known := strings.Fields(f.names)
	for _, name := range known {
		if text == name {
			return nil
		}
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil && len(known) > 0:
		return badCron(fmt.Sprintf("%s %q is neither a number nor a name", f.name, shorten(text)), "known names: "+f.names)
	case err != nil:
		return badCron(fmt.Sprintf("%s %q is not a number", f.name, shorten(text)),
			fmt.Sprintf("write %d to %d, * or */2", f.low, f.high))
	case n < f.low || n > f.high:
		return badCron(fmt.Sprintf("%s %d is not between %d and %d", f.name, n, f.low, f.high), "write a value within these bounds")
	}
	return nil
}

func badCron(problem, fix string) error {
	return &weir.FieldError{Code: codeCron, Field: "cron", Problem: problem, Fix: fix}
}
