package store

import (
	"context"
	"time"
)

// ReturnFor is how long a former owner has precedence. A store that comes back in
// another incarnation may have been set back, and the owner of before is the one that
// can put back what is missing. So for this time, or for the lease's if that is
// longer, nobody else gets a lease that ran out without having been given back. The
// time begins with the first call of Acquire in the new incarnation.
const ReturnFor = 10 * time.Second

// Witness is a store that can be set back to an earlier moment while its users
// run: a failover to a replica that lags behind, a restart with an older copy.
// Whoever remembers what was acknowledged can then put it back.
type Witness interface {
	// Incarnation names the life of whatever holds a partition now. While it is the
	// same, nothing that was acknowledged has been lost.
	Incarnation(ctx context.Context, partition int) (string, error)
	// Reclaim is Acquire for a caller that need not leave the former owner its precedence, see [ReturnFor]:
	// it remembers what the store may have lost, or nothing can be lost with the partition.
	Reclaim(ctx context.Context, partition int, owner string, ttl time.Duration) (Token, error)
	// Done is closed when the store is: nobody need look after it any more.
	Done() <-chan struct{}
}
