package retry

import (
	"time"

	"github.com/weirhq/weir"
)

// Delay returns how long to wait after the given attempt, counted from 1,
// failed: Base, doubled for each attempt after the first up to Cap, times a
// factor from 1/2 to 1 that u, a random number in [0,1), picks. Half of the
// delay is never random, so a resource in trouble gets its rest.
func Delay(b weir.Backoff, attempt int, u float64) time.Duration {
	b = b.WithDefaults()
	d := b.Base
	for i := 1; i < attempt && d < b.Cap; i++ {
		if d > b.Cap/2 { // doubling could overflow
			d = b.Cap
			break
		}
		d *= 2
	}
	return time.Duration(float64(min(d, b.Cap)) * (0.5 + u/2))
}
