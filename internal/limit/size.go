package limit

const (
	// evenness is the time at the full rate, in seconds, that a task may take up: tasks of
	// less make more calls, tasks of more make the stream uneven.
	evenness = 0.05
	// busyPart is the part of what may be in flight that a rate is to keep busy.
	busyPart = 0.8
)

// Size is what decides how many items a task should have.
type Size struct {
	// Rate is how many items may start in a second, 0 for any number.
	Rate float64
	// Latency is how long a task takes, in seconds; 0: that is not known.
	Latency float64
	// InFlight is how many tasks may be in flight; 0: any number.
	InFlight int
	// Grain is what the quotas of a rate are counted in that several nodes share, see
	// [Grain]: tasks of another size would leave something over; 0: it is not shared.
	Grain int
}

// Items returns how many items a task should have, at most batch: the fewest calls
// that are still an even stream, or more items if too few calls may be in flight for
// that, as long as a second of the rate has them. Without a rate it is the batch.
func (s Size) Items(batch int) int {
	batch = max(batch, 1)
	if s.Rate == 0 {
		return batch
	}
	items := s.Rate * evenness
	if s.Grain > 0 {
		items = float64(s.Grain)
	}
	if s.InFlight > 0 {
		items = max(items, s.Rate*s.Latency/(busyPart*float64(s.InFlight)))
	}
	return max(int(min(items, s.Rate, float64(batch))), 1)
}

// Grain is what quotas of a rate are counted in: a hundredth of a second of it, at
// most a batch, so that several nodes can share it out evenly.
func Grain(rate float64, batch int) int {
	return max(int(min(rate/100, float64(batch))), 1)
}

// Chunk is [Size.Items] where nothing is known but the rate.
func Chunk(rate float64, batch int) int { return Size{Rate: rate}.Items(batch) }
