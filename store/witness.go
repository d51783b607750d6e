package store

import "context"

// Witness is a store that can be set back to an earlier moment while its users
// run: a failover to a replica that lags behind, a restart with an older copy.
// Whoever remembers what was acknowledged can then put it back.
type Witness interface {
	// Incarnation names the life of whatever holds a partition now. While it is the
	// same, nothing that was acknowledged has been lost.
	Incarnation(ctx context.Context, partition int) (string, error)
	// Done is closed when the store is: nobody need look after it any more.
	Done() <-chan struct{}
}
