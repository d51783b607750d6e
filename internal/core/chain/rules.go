package chain

// Room returns how many items a step should have ready at most: more would only fill memory.
// That is two seconds of its resource's rate, or 64 batches if it has none.
func Room(rate float64, chunk, batch int) int64 {
	if rate > 0 {
		return max(int64(4*chunk), int64(2*rate))
	}
	return int64(64 * batch)
}

// largeTasks is the number of tasks from which on a bulk action counts as a backlog of its lane
// and not as part of the stream of arrivals.
const largeTasks = 10

// Large reports whether a bulk action of so many items is a backlog and not an arrival.
func Large(items int64, chunk int) bool { return items > int64(largeTasks*chunk) }

// HalveFrom is the number of failures from which on a task is halved.
const HalveFrom = 2

// Hasten is the factor by which a halving comes sooner if the resource is known to work.
const Hasten = 8

// Failed tells what becomes of a task that failed as a whole.
type Failed struct {
	Over    bool // its items have failed
	Attempt int  // the next one
	Fails   int  // times that the whole task has failed
	Halves  bool // it is tried in halves
}

// AfterFailure decides about a task of n items whose given attempt of at most so many failed
// as a whole, after fails such failures. From the second failure on the task is halved each
// time, so that one poisonous item ends up alone and the others get through; until then such
// failures cost no attempt. Nor do free ones: however long an outage takes, no item fails
// because of it.
func AfterFailure(n, attempt, most, fails int, free bool) Failed {
	free = free && most > 1
	if attempt >= most && (n == 1 || most == 1) && !free {
		return Failed{Over: true}
	}
	f := Failed{Attempt: attempt, Fails: fails + 1}
	if !free && (n == 1 || f.Fails <= HalveFrom) {
		f.Attempt = min(attempt+1, most)
	}
	f.Halves = n > 1 && f.Fails >= HalveFrom
	return f
}
