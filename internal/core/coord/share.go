package coord

import (
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/scale"
)

// demand is the rate that one lane could use of a resource, in items per second.
type demand struct {
	lane   int
	wants  float64
	weight float64
	gets   float64
}

// divide gives each lane its share of a rate: its demand if that is less than its fair share by
// weight, and the same per weight for all others. Rate beyond all demand is added to every
// lane's share, since any of them could use it.
func divide(rate float64, ds []demand) {
	slices.SortFunc(ds, func(a, b demand) int { // lowest demand per weight first
		if x, y := a.wants*b.weight, b.wants*a.weight; x != y {
			if x < y {
				return -1
			}
			return 1
		}
		return a.lane - b.lane
	})
	weight := 0.0
	for _, d := range ds {
		weight += d.weight
	}
	left := rate
	for i := range ds {
		d := &ds[i]
		d.gets = min(d.wants, left*d.weight/weight)
		left -= d.gets
		weight -= d.weight
	}
	for i := range ds {
		ds[i].gets += max(left, 0)
	}
}

// bounds returns each lane's share of the tasks that a resource may have in flight, for
// resources with such a limit.
func bounds(f Fleet, all []news) map[weir.LaneID]int {
	out := map[weir.LaneID]int{}
	for i := 0; i < len(all); { // they are sorted by resource
		r, from := all[i].lane.ID.Resource, i
		var wants []int
		for ; i < len(all) && all[i].lane.ID.Resource == r; i++ {
			wants = append(wants, all[i].lane.InFlight+all[i].waiting())
		}
		if most := f.Limits[r].Concurrency; most > 0 {
			for j, n := range scale.Split(most, wants) {
				out[all[from+j].lane.ID] = n
			}
		}
	}
	return out
}

// allowed returns what a resource lets through, in items per second over all nodes; 0 means no
// limit. A node whose flow control found a lower rate counts with that rate, and each other
// node with an even share of the limit.
func allowed(resource string, f Fleet) float64 {
	rate := float64(f.Limits[resource].Rate)
	found, limited, nodes := 0.0, 0, 0
	for i := range f.Nodes {
		at := slices.IndexFunc(f.Nodes[i].Resources, func(u weir.ResourceUse) bool { return u.Name == resource })
		if at < 0 {
			continue
		}
		nodes++
		if u := &f.Nodes[i].Resources[at]; u.Limited {
			limited++
			found += u.Allowed
		}
	}
	switch {
	case limited == 0:
		return rate
	case rate == 0 && limited < nodes:
		return 0
	case rate == 0:
		return found
	}
	return min(rate, found+rate*float64(nodes-limited)/float64(nodes))
}
