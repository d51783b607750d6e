package config

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/weirhq/weir"
)

// whole reads a number within bounds.
func whole(s string, low, high int, what string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%s is not a whole number between %d and %d; %s", s, low, high, what)
	}
	return n, nil
}

// Batch is the most items in a call, 1 to 1,000. 0: not set.
type Batch int

// Set reads it.
func (b *Batch) Set(s string) error {
	n, err := whole(s, 1, 1000, "write how many items one call may hold")
	*b = Batch(n)
	return err
}

// String writes it.
func (b *Batch) String() string { return orEmpty(int(*b)) }

// Type is the word in help.
func (*Batch) Type() string { return "N" }

// Concurrency is the most tasks in flight at once. 0: not set.
type Concurrency int

// Set reads it.
func (c *Concurrency) Set(s string) error {
	n, err := whole(s, 1, 1_000_000, "write how many calls may run at once")
	*c = Concurrency(n)
	return err
}

// String writes it.
func (c *Concurrency) String() string { return orEmpty(int(*c)) }

// Type is the word in help.
func (*Concurrency) Type() string { return "N" }

// Retries holds the maximum retries of a failed item plus one: 0 means not set.
type Retries int

// Attempts returns the maximum attempts of an item, or 0 if not set.
func (r *Retries) Attempts() int { return int(*r) }

// Set reads the number of retries.
func (r *Retries) Set(s string) error {
	n, err := whole(s, 0, 249, "write how often a failed item is tried again")
	if err != nil {
		return err
	}
	*r = Retries(n + 1)
	return nil
}

// String writes it.
func (r *Retries) String() string {
	if *r == 0 {
		return ""
	}
	return strconv.Itoa(int(*r) - 1)
}

// Type is the word in help.
func (*Retries) Type() string { return "N" }

func orEmpty(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// Duration is a time span with its unit, above 0 and at most a day. 0: not set.
type Duration time.Duration

// Set reads it.
func (d *Duration) Set(s string) error {
	t, err := parseDuration(s)
	if err != nil {
		return err
	}
	if t <= 0 || t > 24*time.Hour {
		return fmt.Errorf("%s is not above 0s and at most 24h; write it as in 5s, 2m or 1h30m", s)
	}
	*d = Duration(t)
	return nil
}

var errNoUnit = errors.New("has no unit")

// parseDuration asks for the unit when it is missing.
func parseDuration(s string) (time.Duration, error) {
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return 0, fmt.Errorf("%s %w; write %ss", s, errNoUnit, s)
	}
	t, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration; write it as in 5s, 2m or 1h30m", s)
	}
	return t, nil
}

// String writes it.
func (d *Duration) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

// Type is the word in help.
func (*Duration) Type() string { return "SPAN" }

// Span is a time span with its unit, above 0. 0: not set.
type Span time.Duration

// Set reads it.
func (d *Span) Set(s string) error {
	t, err := parseDuration(s)
	if err == nil && t <= 0 {
		err = fmt.Errorf("%s is not above 0s; write it as in 5s, 2m or 1h30m", s)
	}
	*d = Span(t)
	return err
}

// String writes it.
func (d *Span) String() string { return (*Duration)(d).String() }

// Type is the word in help.
func (*Span) Type() string { return "SPAN" }

// Rate is a number of items per time. 0: not set.
type Rate weir.Rate

// Set reads it.
func (r *Rate) Set(s string) error {
	v, err := weir.ParseRate(s)
	*r = Rate(v)
	return err
}

// String writes it.
func (r *Rate) String() string {
	if *r == 0 {
		return ""
	}
	return weir.Rate(*r).String()
}

// Type is the word in help.
func (*Rate) Type() string { return "N/s" }
