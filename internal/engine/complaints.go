package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/fault"
)

const (
	// quietFor is how long a cause must not have come up to be new again.
	quietFor = 10 * time.Minute
	// mostComplaints bounds how many causes are remembered.
	mostComplaints = 1000
)

// CallsFail is the message of the log line about calls that fail. It is written
// once for each step and cause, and again when the cause comes back.
const CallsFail = "calls fail"

// complaints remembers which causes of failed calls were logged.
type complaints struct {
	mu   sync.Mutex
	seen map[string]time.Time // when each last came up
}

// isNew notes that a cause came up, and reports whether it is new.
func (c *complaints) isNew(now time.Time, e *weir.LastError) bool {
	key := e.Step + "\x00" + e.Code + "\x00" + string(fault.AppendNormal(nil, e.Message))
	c.mu.Lock()
	defer c.mu.Unlock()
	last, known := c.seen[key]
	if c.seen == nil || len(c.seen) >= mostComplaints && !known {
		c.seen = map[string]time.Time{}
	}
	c.seen[key] = now
	return !known || now.Sub(last) > quietFor
}

// log logs why calls fail, once for each new cause.
func (c *complaints) log(ctx context.Context, to *slog.Logger, now int64, views []weir.Progress) {
	for i := range views {
		v := &views[i]
		if x := v.LastError; x != nil && x.Failing && c.isNew(time.Unix(0, now), x) {
			to.LogAttrs(ctx, slog.LevelWarn, CallsFail, slog.String("bulk_action", string(v.ID)), slog.String("step", x.Step),
				slog.String("code", x.Code), slog.String("error", x.Message), slog.Int64("calls", x.Count))
		}
	}
}
