package coord

import (
	"math"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/internal/core/scale"
)

// A lane runs on one node, whatever its backlog. More nodes help only if other lanes have work,
// or if a large bulk action can be shared with lanes on the new nodes.

// use is what the lanes of one resource could use.
type use struct {
	own    float64 // workers that the lanes that there are can use, each on its node
	shared float64 // workers that lanes with spare items could use, with lanes on further nodes
	useful float64 // workers that the limits allow; infinite: no limit
}

func (u use) needed() float64 { return min(max(u.own, u.shared), u.useful) }

// desired returns how many workers the load and the floors could use, and how many nodes of so many
// slots those need. nodes is 0 if slots is.
func (c *Coordinator) desired(slots float64) (workers float64, nodes int) {
	uses, parts, lanes := map[string]use{}, map[int]bool{}, 0.0
	for id, t := range c.lanes { // sums: order does not reach the output
		u := uses[id.Resource]
		if t.useful == 0 {
			u.useful = math.Inf(1)
		}
		own, all, more := t.uses(slots)
		if u.useful += t.useful; own > 0 {
			parts[id.Partition] = true
		}
		u.own, u.shared, lanes = u.own+own, u.shared+all, lanes+more
		uses[id.Resource] = u
	}
	reach := float64(len(parts)) + lanes // lanes of further nodes that could have work
	for r, floor := range c.floors {     // sums: order does not reach the output
		if more := float64(floor) - uses[r].needed(); more > 0 {
			workers, reach = workers+more, math.Inf(1) // new work may come to any partition
		}
	}
	for _, u := range uses { // a sum: order does not reach the output
		workers += u.needed()
	}
	if slots == 0 {
		return workers, 0
	}
	nodes = int(math.Ceil(min(workers/slots, reach)))
	if c.partitions > 0 {
		nodes = min(nodes, c.partitions)
	}
	return workers, max(nodes, 1)
}

// uses returns how many workers the lane can use on its node, how many of them there could be if its
// spare items were shared, and with how many more lanes; 0 if it has none to share.
func (t *track) uses(slots float64) (own, all, more float64) {
	most := slots
	if t.most > 0 {
		most = min(most, float64(t.most))
	}
	if own = min(t.need, most); slots == 0 {
		own = t.need
	}
	if t.useful > 0 {
		own = min(own, t.useful)
	}
	if t.last.Spare > 0 {
		more = math.Ceil(float64(t.last.Spare) / block.Size)
		all = min(t.need, most*(1+more))
	}
	return own, all, more
}

// reserve notes how many workers each resource keeps ready now, over all its lanes: by its
// timetable, and by what was learned of this hour. Its concurrency bounds them.
func (c *Coordinator) reserve(now int64, f Fleet, s *weir.Scaling) {
	c.floors = map[string]int{}
	for r, h := range c.histories { // each by itself: order does not reach the output
		c.floors[r] = h.Floor(now)
	}
	for r, text := range s.Timetables { // each by itself: order does not reach the output
		c.floors[r] = max(c.floors[r], scale.Config{Timetable: c.timetable(text)}.Reserved(now))
	}
	for r, n := range c.floors { // each by itself: order does not reach the output
		if most := f.Limits[r].Concurrency; most > 0 {
			c.floors[r] = min(n, most)
		}
	}
}
