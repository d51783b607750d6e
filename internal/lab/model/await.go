package model

import (
	"math"
	"time"

	"github.com/weirhq/weir/internal/core/retry"
)

// mostWaits is how many times at most items of a block are taken to be due at.
const mostWaits = 64

// longestWait returns the step that most items wait at: the last one is taken to be due there.
func (b *bulk) longestWait() (step int) {
	for i, n := range b.Waiting {
		if n > b.Waiting[step] {
			step = i
		}
	}
	return step
}

// await has items of one block wait for their next attempt, which they did before the
// world began. How often they have been tried follows from the share that is tried again
// and how long the waits are; with last, one of them is due when the bulk action says.
func (s *step) await(m *machine, items int, last bool) {
	l := s.newLot()
	l.steps[s.no].here = int64(items)
	if last {
		items--
		s.awaitOne(m, l, 1, s.triedFor(time.Duration(s.Due)), time.Duration(s.Due))
	}
	waits := s.waits()
	times := min(items, mostWaits)
	for i := range times {
		n := items/times + min(1, max(items%times-i, 0))
		attempt := waits.pick((float64(i) + 0.5) / float64(times))
		left := time.Duration(math.Mod(float64(i)*math.Phi, 1) * float64(waits.lengths[attempt-1]))
		s.awaitOne(m, l, n, attempt, min(left, time.Duration(s.Due)))
	}
}

func (s *step) awaitOne(m *machine, l *lot, items, attempt int, left time.Duration) {
	m.made++
	s.wait(m, again{seq: m.made, lot: l, items: items, attempt: attempt + 1}, left)
}

// waits is how long items of a step wait after each attempt, and how many of those
// that wait at any time have made so many.
type waits struct {
	lengths []time.Duration
	share   []float64
}

func (s *step) waits() (w waits) {
	b, d := s.lane.res.backoff(), &s.lane.res.Downstream
	often, sum := 1.0, 0.0
	for k := 1; k < max(b.MaxAttempts, 2); k++ {
		w.lengths = append(w.lengths, retry.Delay(b, k, 0.5))
		w.share = append(w.share, often*w.lengths[k-1].Seconds())
		sum += w.share[k-1]
		often *= float64(max(d.Retries, d.Failures))
	}
	for k := range w.share {
		w.share[k] /= sum
	}
	return w
}

// pick returns the attempt that a share u of those that wait stays below.
func (w waits) pick(u float64) int {
	for k, x := range w.share {
		if u -= x; u < 0 {
			return k + 1
		}
	}
	return len(w.share)
}

// triedFor returns how often an item has been tried at least whose wait is so long.
func (s *step) triedFor(wait time.Duration) (attempt int) {
	b := s.lane.res.backoff()
	for attempt = 1; attempt < b.MaxAttempts-1 && retry.Delay(b, attempt, 1) < wait; attempt++ {
	}
	return attempt
}
