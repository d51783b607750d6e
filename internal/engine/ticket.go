package engine

import (
	"encoding/json"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
)

// Ticket holds the options of a submit that only the server uses.
type Ticket struct {
	// ID is one that [ingest.Intake.NewID] made: submitting it again, from whichever node, changes nothing. The
	// idempotency key of the spec is not used then. Default: a new one is made.
	ID weir.BulkID
	// Expected is how many items there are before duplicates are left out, where that is known.
	Expected int64
	// Duplicates is how many rows were left out before, because their id came twice. They count with those left out now.
	Duplicates int64
	// AllowEmpty accepts a bulk action without items, which has completed at once.
	AllowEmpty bool
	// Notify tells Options.Events of it.
	Notify bool
	// KeepFor is how long it is kept after its end. Default: as long as all are.
	KeepFor time.Duration
	// Sole says that no other submit of the ID is under way in this process: one that is refused leaves no items.
	// Where other processes use the store they stay until the next start, since one of them may submit the same.
	Sole bool
	// Terms are texts by which lists find it; see [Filter].
	Terms []string
	// Extra is stored with it, and found again in [Info.Extra]. JSON.
	Extra json.RawMessage
}

// hashes returns the terms as they are stored.
func (t *Ticket) hashes() (list []byte) {
	for _, text := range t.Terms {
		list = partition.AppendHash(list, partition.TextTerm(text))
	}
	return list
}
