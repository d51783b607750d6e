package retry

import "time"

// Portion is the part of a resource's rate that retries have while first attempts
// wait for it.
const Portion = 0.20

// longest keeps times within an int64, however slow a resource is.
const longest = 365 * 24 * time.Hour

// Share says when the next retry of a resource may start while first attempts wait for
// it, too. A task that costs much has the next one wait for long, so that the
// portion holds over time for tasks of any size. The zero value lets one start at once.
type Share struct {
	next int64
}

// Next returns when the next retry may start.
func (s *Share) Next() int64 { return s.next }

// Take has a retry of that cost start now, on a resource of that rate, if it may.
func (s *Share) Take(now int64, cost int, rate float64) bool {
	if s.next > now {
		return false
	}
	s.next = now + int64(min(float64(cost)/(Portion*rate)*1e9, float64(longest)))
	return true
}
