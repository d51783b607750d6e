package limit

import "math"

const (
	// evenness is the time at the full rate, in seconds, that a task may take up: tasks of
	// less make more calls, tasks of more make the stream uneven.
	evenness = 0.05
	// fullness is the same for a resource that is to have few calls.
	fullness = 0.5
)

// Size holds what determines how many items a task should have.
type Size struct {
	// Rate is the number of items that may start in a second, 0 for unlimited.
	Rate float64
	// Latency is the run time of a task in seconds; 0: unknown.
	Latency float64
	// InFlight is the number of tasks that may be in flight; 0: unbounded.
	InFlight int
	// Grain is the unit of the quotas of a rate that several nodes share, see [Grain]:
	// tasks of another size would leave a rest; 0: the rate is not shared.
	Grain int
	// Full prefers few calls to an even stream.
	Full bool
	// Whole is the rate and the number of tasks in flight that all nodes share, where both are
	// limited. What one node may have in flight at this moment is a rounded part of it.
	Whole Whole
}

// Whole is a rate and a concurrency that several nodes share.
type Whole struct {
	Rate     float64
	InFlight int
}

// Items returns how many items a task should have, at most batch: the fewest calls
// that are still an even stream, or more items if too few calls may be in flight for
// that, as long as a second of the rate has them. Without a rate it is the batch.
func (s Size) Items(batch int) int {
	batch = max(batch, 1)
	if s.Rate == 0 {
		return batch
	}
	most := max(int(min(s.Rate, float64(batch))), 1)
	even, need := min(s.even(), most), 1
	switch {
	case s.Whole.InFlight > 0:
		need = s.need(s.Whole.Rate, s.Whole.InFlight, most)
	case s.InFlight > 0:
		need = s.need(s.Rate, s.InFlight, most)
	}
	if s.Grain > 0 { // a window is divided between nodes first
		return max(even, need)
	}
	return s.divide(even, need, most)
}

// need returns how many items a task must have at least, so that a rate is reached with so many calls in flight.
func (s Size) need(rate float64, calls, most int) int {
	return int(min(math.Ceil(rate*s.Latency/busy(calls)), float64(most)))
}

// busy returns how many of so many calls a rate is to keep in flight on average: the times of calls
// vary, so that in a small number there are more at times.
func busy(calls int) float64 {
	n := float64(calls)
	return max(min(n-math.Sqrt(n), 0.8*n), n/2)
}

// even returns how many items make a stream that is as even as it should be.
func (s Size) even() int {
	items := s.Rate * evenness
	if s.Full {
		items = s.Rate * fullness
	}
	switch {
	case s.Grain > 0 && s.Full:
		items = max(items-math.Mod(items, float64(s.Grain)), float64(s.Grain))
	case s.Grain > 0:
		items = float64(s.Grain)
	}
	return max(int(min(items, math.MaxInt32)), 1)
}

// Under returns the same for work with a rate of its own as well; 0: it has none.
func (s Size) Under(own float64, batch int) int {
	n := s.Items(batch)
	if own > 0 {
		s.Rate, s.Grain = own, 0 // it is not shared
		n = min(n, s.Items(batch))
	}
	return n
}

// divide returns a size of about even, from need to most, into which a window of the
// rate can be divided: a rest that is too small for a task would be lost.
func (s Size) divide(even, need, most int) int {
	items, _ := PerWindow(s.Rate)
	quota := int(items)
	divides := func(n int) bool { return quota%n == 0 || quota%n >= LeastPart(n) }
	tasks := (quota + even - 1) / even
	for n := (quota + tasks - 1) / tasks; n >= need; n-- {
		if divides(n) {
			return n
		}
	}
	for n := max(even, need); n <= most; n++ {
		if divides(n) {
			return n
		}
	}
	return max(even, need)
}

// LeastPart returns how many of n items of a task are worth a call without the others.
func LeastPart(n int) int { return (n + 2) / 3 }

// Grain returns the unit in which quotas of a rate are counted: a hundredth of a second of it, at
// most a batch, so that several nodes can share it evenly.
func Grain(rate float64, batch int) int {
	return max(int(min(rate/100, float64(batch))), 1)
}

// Chunk is [Size.Items] where nothing is known but the rate.
func Chunk(rate float64, batch int) int { return Size{Rate: rate}.Items(batch) }
