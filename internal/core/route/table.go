package route

import "github.com/zeebo/xxh3"

// MostPartitions is the largest number of partitions that tenants are spread over.
const MostPartitions = tableSlots

// tableSlots is how finely tenants are divided: 16 slots per partition at 256
// partitions. It is a power of two, so that any odd step walks through all slots.
const tableSlots = 4096

// Table spreads tenants over partitions 0 to n-1: a hash gives the tenant's slot,
// the table the slot's partition. Partitions have equally many slots, give or take one.
type Table struct {
	partitions int
	slots      [tableSlots]uint16
}

// NewTable returns the table of so many partitions, clamped to 1 to [MostPartitions].
//
// The table of n+1 partitions is that of n in which the new partition has taken its
// share of slots from the others. So between any two numbers just those slots
// move whose partition comes or goes, which is the least possible, and balance
// needs no slack. Rendezvous hashing with a bound on load would do worse in both.
func NewTable(partitions int) *Table {
	t := &Table{partitions: min(max(partitions, 1), MostPartitions)}
	count := make([]int, t.partitions)
	count[0] = tableSlots
	for newest := 1; newest < t.partitions; newest++ {
		t.yield(newest, count)
	}
	return t
}

// yield moves slots from partitions that have more than their share to the newest,
// in an order that differs from one newcomer to the next: it is not always the same
// tenants that move.
func (t *Table) yield(newest int, count []int) {
	h := score(uint64(newest), tableSlots)
	slot, step := h, h>>32|1
	each, over := tableSlots/(newest+1), tableSlots%(newest+1)
	for count[newest] < each {
		from := t.slots[slot%tableSlots]
		share := each
		if int(from) < over {
			share++ // the first partitions have what does not divide evenly
		}
		if count[from] > share {
			count[from]--
			count[newest]++
			t.slots[slot%tableSlots] = uint16(newest)
		}
		slot += step
	}
}

// Partitions returns the number of partitions of the table.
func (t *Table) Partitions() int { return t.partitions }

// Home returns the partition that a tenant belongs to.
func (t *Table) Home(tenant string) int {
	return int(t.slots[xxh3.HashString128(tenant).Lo%tableSlots])
}

// Candidates returns the two partitions that a tenant's bulk action may go to, home first. They
// differ if there is more than one partition.
func (t *Table) Candidates(tenant string) (a, b int) {
	h := xxh3.HashString128(tenant)
	a = int(t.slots[h.Lo%tableSlots])
	if t.partitions == 1 {
		return a, a
	}
	// A second hash that leads home as well tries the next slot of a walk of its
	// own, so that all other partitions are equally likely.
	for slot, step := h.Hi, h.Hi>>32|1; ; slot += step {
		if b = int(t.slots[slot%tableSlots]); b != a {
			return a, b
		}
	}
}

// Keyed returns the one of a tenant's two candidates that the key of a submit chooses: the same
// for the same key, however loads have changed in between.
func (t *Table) Keyed(tenant, key string) int {
	a, b := t.Candidates(tenant)
	if xxh3.HashString(key)&1 == 0 {
		return a
	}
	return b
}

// Choose returns the less loaded of two partitions, the first if they are equal.
func Choose(a, b int, load func(partition int) float64) int {
	if a != b && load(b) < load(a) {
		return b
	}
	return a
}
