package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir"
)

// DuplicateRule says what happens to a row whose id came before. Empty: keep-first.
type DuplicateRule = Word[duplicateRule]

// The rules for duplicates.
const (
	KeepFirst        DuplicateRule = "keep-first"
	RefuseDuplicates DuplicateRule = "refuse"
	KeepAll          DuplicateRule = "keep-all"
)

// Pacing says whether the calls of a rate are an even stream or few. Empty: smooth.
type Pacing = Word[pacing]

// InvalidRule says what happens to the input when a row is invalid. Empty: refuse.
type InvalidRule = Word[invalidRule]

// SkipInvalid leaves invalid rows out.
const SkipInvalid InvalidRule = "skip"

// ReportFormat is the format of the rows of a report. Empty: csv.
type ReportFormat = Word[reportFormat]

// Tier is the urgency of the work.
type Tier weir.Tier

// Set reads it.
func (t *Tier) Set(s string) error {
	v, err := weir.ParseTier(s)
	*t = Tier(v)
	return err
}

// String writes it.
func (t *Tier) String() string { return weir.Tier(*t).String() }

// Type is the word in help.
func (*Tier) Type() string { return "TIER" }

// Stop ends a run early when too much fails: a part ("5%") or a number of failed items.
type Stop struct {
	Rule weir.StopRule
	text string
}

// Set reads it.
func (s *Stop) Set(text string) error {
	if part, ok := strings.CutSuffix(text, "%"); ok {
		p, err := strconv.ParseFloat(part, 64)
		if err != nil || !(p > 0 && p < 100) {
			return fmt.Errorf("%s is not above 0%% and below 100%%; write it as in 5%%, or a number of items", text)
		}
		*s = Stop{weir.StopRule{FailureRate: p / 100}, text}
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is neither a part nor a number of items; write it as in 5%% or 100", text)
	}
	if n == 0 {
		n = -1 // at the first failure
	}
	*s = Stop{weir.StopRule{MaxFailures: n}, text}
	return nil
}

// String writes it.
func (s *Stop) String() string { return s.text }

// Type is the word in help.
func (*Stop) Type() string { return "N|N%" }

// Deadline is the time at which a run cancels its remaining items: a span from its start, or a time with its zone.
type Deadline struct {
	after time.Duration
	at    time.Time
	text  string
}

// Set reads it.
func (d *Deadline) Set(s string) error {
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		*d = Deadline{at: at, text: s}
		return nil
	}
	if len(s) > 10 && s[4] == '-' {
		return fmt.Errorf("%q is not a time with a zone; write it as in 2030-01-31T18:00:00Z", s)
	}
	after, err := parseDuration(s)
	switch {
	case errors.Is(err, errNoUnit):
		return err
	case err != nil:
		return fmt.Errorf("%q is neither a duration nor a time; write it as in 2h or 2030-01-31T18:00:00Z", s)
	}
	if after <= 0 {
		return fmt.Errorf("%s is not above 0s; write it as in 2h or 2030-01-31T18:00:00Z", s)
	}
	*d = Deadline{after: after, text: s}
	return nil
}

// From is the deadline of a run that starts at now; zero for none.
func (d *Deadline) From(now time.Time) time.Time {
	if d.after > 0 {
		return now.Add(d.after)
	}
	return d.at
}

// FromStart reports whether the deadline is a span that counts from the start.
func (d *Deadline) FromStart() bool { return d.after > 0 }

// Past reports whether the deadline is a time that has passed at now.
func (d *Deadline) Past(now time.Time) bool { return !d.at.IsZero() && !d.at.After(now) }

// String writes it.
func (d *Deadline) String() string { return d.text }

// Type is the word in help.
func (*Deadline) Type() string { return "WHEN" }
