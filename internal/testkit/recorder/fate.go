package recorder

import (
	"hash/fnv"
	"strconv"
)

// The steps of the chain that the server has actions for, in order.
const (
	Award   = "award"
	Message = "message"
)

// The answers for an item.
const (
	Done    = "done"
	Retry   = "retry"
	Failed  = "failed"
	Refused = "refused" // the whole call: 429 or 503
	Wrong   = "wrong"   // the item did not bring what it should have: a bug of the caller
)

// How often what goes wrong, in items of ten thousand.
const (
	oddsClosed = 50  // fail for good
	oddsBusy   = 10  // ask for another attempt, for ever
	oddsHiccup = 100 // ask for another attempt once or twice
)

// Fate is the predetermined outcome of an item at a step.
type Fate struct {
	Retries int    // calls answered with a retry before the last word
	Busy    bool   // every call is answered with a retry
	Code    string // of the failure, or of the retries when Busy; empty: the item succeeds
	Message string
}

// FateOf returns the same for the same arguments, so that a judge can compute it too.
func FateOf(seed uint64, step, id string) Fate {
	h := mix(seed, step, id)
	switch draw := h % 10_000; {
	case draw < oddsClosed:
		return Fate{Code: "closed", Message: "account " + id + " is closed at " + step}
	case draw < oddsClosed+oddsBusy:
		return Fate{Busy: true, Code: "busy", Message: "account " + id + " is busy at " + step}
	case draw < oddsClosed+oddsBusy+oddsHiccup:
		return Fate{Retries: 1 + int(h>>32)%2}
	}
	return Fate{}
}

// Output returns the step's answer for an item that succeeded: a text that cannot be derived
// from another item or step.
func Output(seed uint64, step, id string) string {
	return step + "-" + strconv.FormatUint(mix(seed+1, step, id), 36)
}

func mix(seed uint64, step, id string) uint64 {
	h := fnv.New64a()
	var b []byte
	b = strconv.AppendUint(b, seed, 36)
	b = append(b, '/')
	b = append(b, step...)
	b = append(b, '/')
	b = append(b, id...)
	_, _ = h.Write(b) // never fails
	x := h.Sum64()    // its low bits alone are not random enough for short texts
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}
