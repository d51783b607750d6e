package model

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir"
)

const second = int64(time.Second)

// Span is a time span, written with its unit: 50ms, 2m, 1h30m.
type Span time.Duration

// UnmarshalText reads it.
func (s *Span) UnmarshalText(text []byte) error {
	t := string(text)
	d, err := time.ParseDuration(t)
	switch {
	case t == "0":
		d = 0
	case bare(t):
		return fmt.Errorf("%s has no unit; write %ss", t, t)
	case err != nil:
		return fmt.Errorf("%q is not a duration; write it as in 50ms, 5s or 1h30m", t)
	case d < 0:
		return fmt.Errorf("%s is negative; write a duration of 0s or more", t)
	}
	*s = Span(d)
	return nil
}

// MarshalText writes it.
func (s Span) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

func spanText(s Span) string { return time.Duration(s).String() }

func seconds(s Span) float64 { return time.Duration(s).Seconds() }

// Rate is a number per second, written as in 500/s, 30/m or 1000/h. 0: unlimited, or none.
type Rate float64

// UnmarshalText reads it.
func (r *Rate) UnmarshalText(text []byte) error {
	t := string(text)
	if t == "unlimited" {
		*r = 0
		return nil
	}
	v, err := weir.ParseRate(t)
	*r = Rate(v)
	return err
}

// MarshalText writes it.
func (r Rate) MarshalText() ([]byte, error) { return []byte(weir.Rate(r).String()), nil }

// Percent is a part of a whole, from 0 to 1, written as in 60% or 0.1%.
type Percent float64

// UnmarshalText reads it.
func (s *Percent) UnmarshalText(text []byte) error {
	t := string(text)
	number, found := strings.CutSuffix(t, "%")
	p, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil:
		return fmt.Errorf("%q is not a percentage; write it as in 5%%", t)
	case !found && p != 0:
		return fmt.Errorf("%s has no unit; write %s%%", t, t)
	case !(p >= 0 && p <= 100): // written so that NaN fails, too
		return fmt.Errorf("%s is not between 0%% and 100%%", t)
	}
	*s = Percent(p / 100)
	return nil
}

// MarshalText writes it.
func (s Percent) MarshalText() ([]byte, error) {
	return []byte(strconv.FormatFloat(float64(s)*100, 'g', 6, 64) + "%"), nil
}

// bare reports whether text is a number without a unit.
func bare(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}
