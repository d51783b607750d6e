package experiment

import (
	"math"
	"time"
)

// Profile describes the capacity of a downstream over time, which only the downstream
// knows.
type Profile struct {
	// Name says the capacities in items per second.
	Name string
	// Steps tells that it changes every 30 seconds, which is faster than a rule can
	// be without asking too often.
	Steps bool
	// For is how long it is watched.
	For time.Duration
	// At is the capacity at a time since the beginning, in items per second.
	At func(t time.Duration) float64
}

// flowRate is the configured rate in all profiles.
const flowRate = 10_000.0

// FlowProfiles lists the profiles of E14.
func FlowProfiles() []Profile {
	return []Profile{
		{Name: "10k, 4k, 10k", For: 15 * time.Minute, At: inTurn(5*time.Minute, 10_000, 4000, 10_000)},
		{Name: "10k, 1.5k, 10k", For: 15 * time.Minute, At: inTurn(5*time.Minute, 10_000, 1500, 10_000)},
		{Name: "sine 4k-9k, 120 s", For: 6 * time.Minute, At: func(t time.Duration) float64 {
			return 6500 + 2500*math.Sin(2*math.Pi*t.Seconds()/120)
		}},
		{Name: "constant 5k", For: 6 * time.Minute, At: func(time.Duration) float64 { return 5000 }},
		{Name: "9k, 3k, 6k every 30 s", Steps: true, For: 6 * time.Minute, At: inTurn(30*time.Second, 9000, 3000, 6000)},
	}
}

// inTurn goes through capacities, each for a span, over and over.
func inTurn(span time.Duration, rates ...float64) func(time.Duration) float64 {
	return func(t time.Duration) float64 { return rates[int(t/span)%len(rates)] }
}

// tokens is the downstream's own limit: a bucket that fills at the capacity and
// holds that of a certain time.
type tokens struct {
	profile Profile
	depth   time.Duration
	at      time.Duration
	have    float64
	full    float64 // what the capacity amounts to since the beginning
}

// fill moves the bucket on to a time, in steps that are short against any profile.
func (b *tokens) fill(t time.Duration) {
	for b.at < t {
		step := min(t-b.at, 10*time.Millisecond)
		rate := b.profile.At(b.at)
		b.full += rate * step.Seconds()
		b.have = min(b.have+rate*step.Seconds(), rate*b.depth.Seconds())
		b.at += step
	}
}

// take lets through what there is for so many items, and says until when the
// others should stay away.
func (b *tokens) take(t time.Duration, items int) (passed int, back time.Duration) {
	b.fill(t)
	passed = min(items, int(b.have))
	b.have -= float64(passed)
	missing := float64(items - passed)
	return passed, t + time.Duration(missing/b.profile.At(t)*float64(time.Second))
}
