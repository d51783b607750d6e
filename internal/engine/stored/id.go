package stored

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
)

// MaxPartitions is the most partitions that a store may have.
const MaxPartitions = 256

const idPrefix = "ba_"

// NewID makes the id of a bulk action: time-ordered, random, and with the partition in the
// first two of its ten random bytes.
func NewID(partition int) weir.BulkID {
	id := ulid.Make()
	binary.BigEndian.PutUint16(id[6:8], uint16(partition))
	return weir.BulkID(idPrefix + strings.ToLower(id.String()))
}

// NewJoint makes the name of a joint filter: time-ordered and random.
func NewJoint() weir.BulkID { return partition.JointName(strings.ToLower(ulid.Make().String())) }

// Owner returns the bulk action to whom blocks of a name belong, or will belong: that of a stage, or the name itself.
func Owner(name weir.BulkID) weir.BulkID {
	if id, _, ok := partition.StageOf(name); ok {
		return id
	}
	return name
}

// Began returns when an id, or that of the owner of a name, was made, by the clock of the process that made it.
func Began(id weir.BulkID) time.Time {
	raw, joint := partition.JointOf(id)
	if !joint {
		raw = strings.TrimPrefix(string(Owner(id)), idPrefix)
	}
	u, err := ulid.ParseStrict(strings.ToUpper(raw))
	if err != nil {
		return time.Time{}
	}
	return u.Timestamp()
}

// FirstAt returns where the ids begin that are made at a time or later: all of those are greater, and all others less.
func FirstAt(at time.Time) weir.BulkID {
	var id ulid.ULID
	ms := max(at.Add(time.Millisecond-time.Nanosecond).UnixMilli(), 0) // the next whole one: ids have no parts of it
	_ = id.SetTime(min(uint64(ms), ulid.MaxTime()))                    // fails beyond
	return weir.BulkID(idPrefix + strings.ToLower(id.String()))
}

// window is how many milliseconds the ids span that share the first seven of the ten characters of their time.
const window = 1 << 15

// Prefixes returns what the ids begin with that were made between two times, by the clocks that made them.
func Prefixes(from, to time.Time) (all []string) {
	for at := ulid.Timestamp(from) / window; at <= ulid.Timestamp(to)/window; at++ {
		var id ulid.ULID
		_ = id.SetTime(at * window) // fails in the year 10889
		all = append(all, idPrefix+strings.ToLower(id.String()[:7]))
	}
	return all
}

// Home returns the partition that an id carries. Ids of partitions from most on are not found.
func Home(id weir.BulkID, most int) (int, error) {
	raw, ok := strings.CutPrefix(string(id), idPrefix)
	u, err := ulid.ParseStrict(raw)
	if !ok || err != nil || strings.ContainsFunc(raw, isUpper) {
		return 0, fmt.Errorf("bulk action %q: %w; an id is ba_ and 26 characters", id, weir.ErrNotFound)
	}
	n := int(binary.BigEndian.Uint16(u[6:8]))
	if n >= most {
		return 0, fmt.Errorf("bulk action %s: %w", id, weir.ErrNotFound)
	}
	return n, nil
}

// isUpper reports whether a character of an id would make it another text for the same id.
func isUpper(c rune) bool { return 'A' <= c && c <= 'Z' }

// ClaimKey names the claim of a tenant's idempotency key. The claim of a bulk action's id has no tenant.
func ClaimKey(tenant, key string) string { return tenant + "\x00" + key }
