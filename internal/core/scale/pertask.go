package scale

// PerTask tracks how many items the tasks of a lane have. They may have fewer than the lane's
// rate and batch allow: another bulk action may have smaller batches, or fewer items. The zero
// value has seen none.
type PerTask float64

// See returns the value after so many more tasks started, with so many items. most bounds the
// items of a task.
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

// Tasks converts a number of items, or items per second, to tasks.
func (p PerTask) Tasks(items float64) float64 { return items / float64(max(p, 1)) }
