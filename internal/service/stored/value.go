package stored

import (
	"time"

	"github.com/weirhq/weir"
)

// Duration is stored as "1m30s".
type Duration time.Duration

// MarshalText writes the duration in Go's format.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// String returns the duration in Go's format.
func (d Duration) String() string { return time.Duration(d).String() }

// UnmarshalText reads "1m30s".
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// Rate is stored as "300/s", or "unlimited".
type Rate weir.Rate

// MarshalText writes the rate as items per second, or "unlimited".
func (r Rate) MarshalText() ([]byte, error) { return []byte(weir.Rate(r).String()), nil }

// String returns the rate as items per second, or "unlimited".
func (r Rate) String() string { return weir.Rate(r).String() }

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
