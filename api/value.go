package api

import (
	"fmt"
	"time"

	"github.com/weirhq/weir"
)

// Duration is a length of time, on the wire as "1m30s".
type Duration time.Duration

// MarshalText writes the duration in Go's format.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads "1m30s".
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration; write it with its unit, as in 90s or 1h30m", text)
	}
	*d = Duration(v)
	return nil
}

// String returns the duration as on the wire.
func (d Duration) String() string { return time.Duration(d).String() }

// Rate is a number of items per second, on the wire as "300/s", "30/m" or "1000/h".
type Rate weir.Rate

// MarshalText writes the rate as items per second, or "unlimited".
func (r Rate) MarshalText() ([]byte, error) { return []byte(weir.Rate(r).String()), nil }

// UnmarshalText reads "300/s" and "unlimited".
func (r *Rate) UnmarshalText(text []byte) error {
	if string(text) == "unlimited" {
		*r = 0
		return nil
	}
	v, err := weir.ParseRate(string(text))
	*r = Rate(v)
	return err
}

// String returns the rate as on the wire.
func (r Rate) String() string { return weir.Rate(r).String() }

// Page is one page of a list. Ask for the next one with its cursor.
type Page[T any] struct {
	Data       []T    `json:"data" nullable:"false"`
	NextCursor string `json:"next_cursor,omitempty" doc:"Pass it as cursor to get the next page, with the other parameters unchanged"`
	HasMore    bool   `json:"has_more"`
	Note       string `json:"note,omitempty" doc:"Says that the list may be incomplete, because the store lost accepted work"`
}
