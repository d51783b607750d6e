package scale

// PerTask follows how many items the tasks of a lane have. They may have fewer than
// the lane's rate and batch allow: another bulk action has smaller batches, or fewer
// items. The zero value has seen none.
type PerTask float64

// See returns it after so many more tasks started, with so many items. A task has at
// most so many.
func (p PerTask) See(items, tasks int64, most int) PerTask {
	if items > 0 && tasks > 0 {
		seen := PerTask(items) / PerTask(tasks)
		if p == 0 {
			p = seen
		}
		p += (seen - p) / 2
	}
	if p == 0 {
		p = PerTask(most)
	}
	return max(min(p, PerTask(most)), 1)
}

// Tasks returns a number of items, or items per second, in tasks.
func (p PerTask) Tasks(items float64) float64 { return items / float64(max(p, 1)) }
