package experiment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/core/route"
	"github.com/weirhq/weir/internal/lab/virtual"
)

// counts are the numbers of partitions that E16 goes through.
var counts = []int{16, 17, 24, 15}

const (
	trafficRate = 10_000
	floods      = 48
	leastFlood  = 12_000 // more than what counts as small
	held        = 3 * sec
)

// remap is E16: the number of partitions changes while work goes on. New bulk actions
// go by the new map, and those that are there stay where they are, so few tenants move,
// nothing runs twice, and tenants do not notice.
func remap(size Size) (lines []Line) {
	for i := 1; i < len(counts); i++ {
		lines = append(lines, moved(counts[i-1], counts[i]))
	}
	every := sized(size, 6*sec, 60*sec)
	x := newTraffic(every, len(counts)-1)
	x.node.run(never)
	lines = append(lines, x.gaps(every)...)
	for _, v := range x.node.ended { // a sum: order does not reach it
		x.done += v.Counts.Done
	}
	return append(lines,
		atMost(18, fmt.Sprintf("items started twice, of %d", x.items), float64(x.twice), 0, ""),
		atMost(18, fmt.Sprintf("bulk actions in two partitions, of %d", len(x.bulks)), float64(x.astray), 0, ""),
		atMost(18, "items that never ended", float64(x.items-x.done), 0, ""),
		x.node.peaks("partitions 16, 17, 24, 15"))
}

// gaps compares each change with a world that is the same up to then and does not
// change: by how much later the next task of any bulk action that is under way starts.
func (x *traffic) gaps(every int64) (lines []Line) {
	for i, to := range counts[1:] {
		at := epoch + int64(i+1)*every
		still := newTraffic(every, i)
		still.node.run(at + held)
		gap, n := int64(0), 0
		for id, b := range x.bulks { // the most: order does not reach it
			if b.at >= at {
				continue
			}
			here, there := next(b.starts, at), next(still.bulks[id].starts, at)
			if min(here, there) <= at+held {
				gap = max(gap, here-there)
				n++
			}
		}
		lines = append(lines,
			atMost(18, fmt.Sprintf("longest gap of bulk actions under way, %d partitions", to), float64(gap)/1e6, 500, " ms"),
			atLeast(18, "bulk actions that this was seen of", float64(n), floods/2, ""))
	}
	return lines
}

// next is the first time from at on.
func next(times []int64, at int64) int64 {
	i, _ := slices.BinarySearch(times, at)
	if i == len(times) {
		return never
	}
	return times[i]
}

// moved is how many tenants have another home, in terms of the least possible.
func moved(from, to int) Line {
	a, b := route.NewTable(from), route.NewTable(to)
	n := 0
	for i := range Tenants {
		if name := tenantName(i); a.Home(name) != b.Home(name) {
			n++
		}
	}
	least := math.Abs(float64(to-from)) / float64(max(from, to))
	return atMost(18, fmt.Sprintf("tenants moved by %d -> %d, of the least possible", from, to), float64(n)/Tenants/least, 1.1, "x")
}

func tenantName(i int) string { return fmt.Sprint("tenant-", i) }

// traffic is a node under load, and what was seen of it.
type traffic struct {
	node   *node
	rng    *rand.Rand
	bulks  map[weir.BulkID]*traced
	items  int64
	done   int64
	twice  int64
	astray int
}

// traced is one bulk action.
type traced struct {
	at     int64 // submitted
	part   int
	seen   []uint64 // a bit for each item
	starts []int64
	left   bool // it was seen in another partition
}

// newTraffic prepares bulk actions of many tenants for so long with each of the maps, up
// to a number of changes: floods that are under way all the time, and a fifth of the rate of
// small ones that come and go. What arrives is the same for any number.
//
// After each change nothing new comes for a while, whether the map changed or not. Else
// the new ones, which go elsewhere, would change who is served next, and that alone moves
// the waits of floods by a second either way: a gap of half a second could not be seen.
func newTraffic(every int64, changes int) *traffic {
	x := &traffic{
		node: newNode(counts[0], step("a", trafficRate)), rng: virtual.Chance(161, 1), bulks: map[weir.BulkID]*traced{},
	}
	x.node.service = func(*partition.Task) int64 { return 50 * ms }
	x.node.onStart = x.started
	tables := make([]*route.Table, len(counts))
	for i, partitions := range counts {
		tables[i] = route.NewTable(partitions)
		if i <= changes {
			x.node.At(epoch+int64(i)*every, func() { x.node.grow(partitions) })
		}
	}
	for range floods {
		x.arrive(0, max(leastFlood, int64(len(counts))*every/sec*trafficRate*8/10/floods), tables[0])
	}
	small := heavyTail(1000)
	for at := int64(0); at < int64(len(counts))*every; at += int64(x.rng.ExpFloat64() * small.mean() / (0.2 * trafficRate) * 1e9) {
		if at >= every {
			at = max(at, at/every*every+held)
		}
		x.arrive(at, small.draw(x.rng.Float64()), tables[min(int(at/every), changes)])
	}
	return x
}

// arrive lets a bulk action of some tenant come at a time, to the less loaded of the two
// partitions that the table names.
func (x *traffic) arrive(at, items int64, table *route.Table) {
	n := x.node
	c := partition.Created{ID: weir.BulkID(fmt.Sprint("ba_", len(x.bulks))), Tenant: tenantName(x.rng.IntN(Tenants)), Items: items}
	x.items += items
	x.bulks[c.ID] = &traced{at: epoch + at, part: -1, seen: make([]uint64, items/64+1)}
	n.At(epoch+at, func() {
		a, b := table.Candidates(c.Tenant)
		n.submit(route.Choose(a, b, func(p int) float64 { return float64(n.parts[p].m.Pending()) }), c)
	})
}

// started looks at every item that is sent.
func (x *traffic) started(part int, t *partition.Task) {
	b := x.bulks[t.Bulk]
	b.starts = append(b.starts, x.node.Now())
	if b.part >= 0 && b.part != part && !b.left {
		b.left = true
		x.astray++
	}
	b.part = part
	for _, i := range t.Items {
		at := t.Base + int64(i)
		if b.seen[at/64]&(1<<(at%64)) != 0 {
			x.twice++
		}
		b.seen[at/64] |= 1 << (at % 64)
	}
}
