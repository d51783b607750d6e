package engine

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/oklog/ulid/v2"
	"github.com/weirhq/weir"
	"github.com/zeebo/xxh3"
)

const idPrefix = "ba_"

// newBulkID makes an id: time-ordered, random, and with the partition in the
// first two of its ten random bytes.
func newBulkID(partition int) weir.BulkID {
	id := ulid.Make()
	binary.BigEndian.PutUint16(id[6:8], uint16(partition))
	return weir.BulkID(idPrefix + strings.ToLower(id.String()))
}

// partitionOf is the partition that an id carries.
func (e *Engine) partitionOf(id weir.BulkID) (int, error) {
	raw, ok := strings.CutPrefix(string(id), idPrefix)
	u, err := ulid.ParseStrict(strings.ToUpper(raw))
	if !ok || err != nil || strings.ToLower(raw) != raw {
		return 0, fmt.Errorf("bulk action %q: %w; an id is ba_ and 26 characters", id, weir.ErrNotFound)
	}
	n := int(binary.BigEndian.Uint16(u[6:8]))
	if n >= e.layout.now().most() {
		return 0, fmt.Errorf("bulk action %s: %w", id, weir.ErrNotFound)
	}
	return n, nil
}

// route chooses the partition of new work. All of a tenant's bulk actions lie
// together, so that one queue sees what it has in hand.
func (e *Engine) route(tenant string) int {
	return int(xxh3.HashString(tenant) % uint64(e.layout.now().Partitions))
}
