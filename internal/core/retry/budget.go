package retry

import "time"

// Portion is the part of a resource's rate that retries get while first attempts wait for it.
const Portion = 0.20

// longest keeps times within an int64, however slow a resource is.
const longest = 365 * 24 * time.Hour

// Budget says when the next retry on a resource may start while first attempts wait for it as
// well. A task of high cost delays the next retry for longer, so the portion holds over time
// for tasks of any size. The zero value lets a retry start at once.
type Budget struct {
	next int64
}

// Next returns when the next retry may start.
func (b *Budget) Next() int64 { return b.next }

// Take starts a retry of that cost on a resource of that rate, if one may start now, and
// reports whether it did.
func (b *Budget) Take(now int64, cost int, rate float64) bool {
	if b.next > now {
		return false
	}
	b.next = now + int64(min(float64(cost)/(Portion*rate)*1e9, float64(longest)))
	return true
}
