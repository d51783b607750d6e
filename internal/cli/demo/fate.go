package demo

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/weirhq/weir"
)

// How often things go wrong: one in so many.
const (
	retryOneIn  = 100  // items that need a second attempt
	failOneIn   = 2000 // items that fail for good
	refuseOneIn = 200  // calls that are refused
	halfOneIn   = 50   // answers of [Server] that leave out half of the items
)

// refusedFor is short: while it lasts nothing runs against the service.
const refusedFor = 150 * time.Millisecond

var errBusy = errors.New("too many requests")

// latency is 2 ms at least and 20 ms at most, or so many times slower; a fifth of the calls take more
// than twice as long as the middle one.
func (s *service) latency(id string) time.Duration {
	u := float64(s.draw(id, "latency")>>11) / (1 << 53)
	return time.Duration(2e6 * s.slower * math.Pow(10, u*u))
}

// refuse is an error for every refuseOneIn-th call.
func (s *service) refuse() error {
	if n := s.calls.Add(1); s.o.NoFaults || n%refuseOneIn != refuseOneIn/2 {
		return nil
	}
	return &weir.RefusedError{After: refusedFor, Err: errBusy}
}

// outcome returns the result of an item at an attempt: the same every time.
func (s *service) outcome(it *weir.TaskItem, attempt int) weir.Outcome {
	if !s.o.NoFaults {
		if s.draw(it.ID, "fail")%failOneIn == 0 {
			return s.failure(it.ID)
		}
		if attempt <= 1 && s.draw(it.ID, "retry")%retryOneIn == 0 {
			return weir.Outcome{Kind: weir.OutcomeRetry, Code: "busy", Message: "try again", After: 100 * time.Millisecond}
		}
	}
	return weir.Outcome{Kind: weir.OutcomeDone, Output: s.output(it)}
}

func (s *service) failure(id string) weir.Outcome {
	if s.name == Message {
		return weir.Outcome{Kind: weir.OutcomeFailed, Code: "bad_address", Message: "unknown recipient"}
	}
	return weir.Outcome{Kind: weir.OutcomeFailed, Code: "wallet_rejected", Message: "account " + id + " is closed"}
}

// output is the reward's id, or that of the message about it.
func (s *service) output(it *weir.TaskItem) []byte {
	if s.name != Message {
		return named(`{"reward_id":"r-`, s.draw(it.ID, "reward"))
	}
	var reward struct {
		ID string `json:"reward_id"`
	}
	if len(it.Previous) > 0 {
		_ = json.Unmarshal(it.Previous, &reward) // a message without a reward is sent as well
	}
	return named(`{"message_id":"m-`, s.draw(it.ID, reward.ID))
}

func named(start string, n uint64) []byte {
	b := make([]byte, 0, len(start)+18)
	b = append(b, start...)
	b = strconv.AppendUint(b, n, 36)
	return append(b, `"}`...)
}

// draw is a number that follows from the item and the purpose.
func (s *service) draw(id, purpose string) uint64 { return mix(hash(hash(s.salt, id), purpose)) }

// hash is FNV-1a, started from seed.
func hash(seed uint64, s string) uint64 {
	h := seed ^ 14695981039346656037
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// mix spreads a hash over all bits, as the last step of SplitMix64 does.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
