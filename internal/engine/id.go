package engine

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/weirhq/weir"
)

const idPrefix = "ba_"

// newBulkID makes an id: time-ordered, random, and with the partition in the
// first two of its ten random bytes.
func newBulkID(partition int) weir.BulkID {
	id := ulid.Make()
	binary.BigEndian.PutUint16(id[6:8], uint16(partition))
	return weir.BulkID(idPrefix + strings.ToLower(id.String()))
}

// submitBegan returns when an id was made, by the clock of the process that made it.
func submitBegan(id weir.BulkID) time.Time {
	u, err := ulid.ParseStrict(strings.ToUpper(strings.TrimPrefix(string(id), idPrefix)))
	if err != nil {
		return time.Time{}
	}
	return u.Timestamp()
}

// partitionOf is the partition that an id carries.
func (e *Engine) partitionOf(id weir.BulkID) (int, error) {
	raw, ok := strings.CutPrefix(string(id), idPrefix)
	u, err := ulid.ParseStrict(strings.ToUpper(raw))
	if !ok || err != nil || strings.ToLower(raw) != raw {
		return 0, fmt.Errorf("bulk action %q: %w; an id is ba_ and 26 characters", id, weir.ErrNotFound)
	}
	n := int(binary.BigEndian.Uint16(u[6:8]))
	if n >= e.layout.now().Most {
		return 0, fmt.Errorf("bulk action %s: %w", id, weir.ErrNotFound)
	}
	return n, nil
}
