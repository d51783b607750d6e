package scale

import (
	"cmp"
	"slices"
)

// Split divides the tasks that a resource may have in flight among its lanes, evenly apart from
// what a lane does not want. Each gets at least one. A lane that wants nothing is left out: as
// far as is known, it could have them all.
func Split(tasks int, wants []int) []int {
	out, byWish := make([]int, len(wants)), make([]int, 0, len(wants))
	for i, n := range wants {
		out[i] = tasks
		if n > 0 {
			byWish = append(byWish, i)
		}
	}
	slices.SortStableFunc(byWish, func(a, b int) int { return cmp.Compare(wants[a], wants[b]) })
	left := tasks
	for k, i := range byWish {
		out[i] = min(wants[i], left/(len(byWish)-k))
		left -= out[i]
	}
	for k, i := range byWish { // no lane wants the rest: any of them may have it
		more := left / (len(byWish) - k)
		out[i] = max(out[i]+more, 1)
		left -= more
	}
	return out
}
