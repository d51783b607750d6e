// Package trace decides which tasks of a traced bulk action have spans.
//
// Up to a hundred items of a bulk action are traced: every n-th, by position, so that the choice is the same at each
// step, attempt and node, and needs no memory. A task is traced if it has one of these items, however tasks are cut.
// So the whole way of an item can be followed, and a bulk action of a million items has as many spans as one of a
// hundred.
//
// The package is pure.
package trace

// Most is the largest number of traced items in a bulk action.
const Most = 100

// Every returns n if every n-th item of a bulk action of so many items is traced, beginning with the first.
func Every(items int64) int64 { return max(1, (items+Most-1)/Most) }

// Items yields the positions in at of the items that are traced. at holds the positions in a block, ascending, whose
// first item has the number base.
func Items(every, base int64, at []uint16) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		if len(at) == 0 {
			return
		}
		first, last := base+int64(at[0]), base+int64(at[len(at)-1])
		if (first+every-1)/every*every > last {
			return // most tasks of a large bulk action
		}
		for i, a := range at {
			if (base+int64(a))%every == 0 && !yield(i) {
				return
			}
		}
	}
}

// Any reports whether one of the items is traced.
func Any(every, base int64, at []uint16) bool {
	for range Items(every, base, at) {
		return true
	}
	return false
}
