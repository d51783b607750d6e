package weir

import (
	"fmt"
	"time"
)

// Loss describes acknowledged work of a partition that the store lost and no node could
// put back. It is kept in the store, where every node reads it.
type Loss struct {
	Partition int
	// Have is the last commit that the store had, Acked the last that it had acknowledged.
	Have, Acked uint64
	Found       time.Time
	// Accepted is when a node that accepts losses went on with what was left. Until then the partition is stopped.
	Accepted time.Time
}

// LossError reports that the store holds less of a partition than it has
// acknowledged, and that this process cannot put it back. The partition is not
// run until the store has it again. It wraps store.ErrCorrupt.
type LossError struct {
	Partition int
	// Have is the last commit in the store, Acked the last that was acknowledged. If
	// both are the same, it is not the same commit.
	Have, Acked uint64
	Err         error // of package store
}

// Error tells what is missing, and what can be done.
func (e *LossError) Error() string {
	what := fmt.Sprintf("commits %d to %d", e.Have+1, e.Acked)
	if e.Have == e.Acked {
		what = fmt.Sprintf("commit %d, in whose place there is another,", e.Acked)
	}
	return fmt.Sprintf("partition %d: the store was set back: %s were acknowledged and are gone, and no node can put them back. "+
		"Restore the store from a copy that has them, or start a node with AcceptLoss (weir serve --accept-loss) to go on "+
		"with what is left", e.Partition, what)
}

// Unwrap returns Err.
func (e *LossError) Unwrap() error { return e.Err }

// LostError reports an id of which the store has nothing, and whose partition lost
// acknowledged work after the id was made. It matches [ErrNotFound].
type LostError struct {
	ID   BulkID
	Loss Loss
}

// Error tells what is known.
func (e *LostError) Error() string {
	what := fmt.Sprintf("bulk action %s: not in the store, which lost acknowledged work of its partition %d; that was found at %s",
		e.ID, e.Loss.Partition, e.Loss.Found.Format(time.RFC3339))
	if e.Loss.Accepted.IsZero() {
		return what + ", and the partition is stopped"
	}
	return what + ", and accepted at " + e.Loss.Accepted.Format(time.RFC3339) + ": if the bulk action was there, it is lost"
}

// Is makes errors.Is(err, ErrNotFound) true.
func (e *LostError) Is(target error) bool { return target == ErrNotFound }
