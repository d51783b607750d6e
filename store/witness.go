package store

import (
	"context"
	"time"
)

// ReturnFor is how long a former owner has precedence. A store that comes back in another
// incarnation may have been set back, and the former owner is the one that can restore what is
// missing. So for this time, or for that of the lease if it is longer, no other owner gets a
// lease that ran out without having been given back. The time starts with the first call of
// Acquire in the new incarnation.
const ReturnFor = 10 * time.Second

// Witness is a store that can be set back to an earlier moment while it is in use: by a
// failover to a replica that lags behind, or a restart with an older copy. A client that
// remembers what was acknowledged can then restore it.
type Witness interface {
	// Incarnation identifies the lifetime of the server that holds a partition now. While it is
	// the same, nothing that was acknowledged has been lost.
	Incarnation(ctx context.Context, partition int) (string, error)
	// Reclaim does the same as Acquire for a caller that need not wait for the former owner,
	// see [ReturnFor]: it remembers what the store may have lost, or nothing can be lost with
	// the partition.
	Reclaim(ctx context.Context, partition int, owner string, ttl time.Duration) (Token, error)
	// Done is closed when the store is closed and needs no more watching.
	Done() <-chan struct{}
}
