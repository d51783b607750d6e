package coord

import "slices"

// demand is what one lane could use of a resource, in items per second.
type demand struct {
	lane   int
	wants  float64
	weight float64
	gets   float64
}

// divide gives each lane its share of a rate: what it wants if that is less than
// its fair share by weight, and the same per weight for all others. What nobody
// wants is added to every lane's share, since any of them could have it.
func divide(rate float64, ds []demand) {
	slices.SortFunc(ds, func(a, b demand) int { // those who want least per weight come first
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
