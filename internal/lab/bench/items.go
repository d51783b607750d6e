package main

import (
	"encoding/json"
	"iter"
	"strconv"

	"github.com/weirhq/weir"
)

// rewards yields n items of about 100 bytes, id and document together, no two
// alike. It makes them as it goes: a million in memory would be what is measured.
func rewards(n int) iter.Seq2[weir.RawItem, error] {
	return func(yield func(weir.RawItem, error) bool) {
		var room []byte
		for i := range n {
			if cap(room)-len(room) < 256 {
				room = make([]byte, 0, 64<<10) // items are carved from it: two allocations for each would be measured too
			}
			from := len(room)
			room = appendReward(room, i)
			doc := room[from:len(room):len(room)]
			id := strconv.AppendInt(append(make([]byte, 0, 16), "user-"...), int64(i), 10)
			if !yield(weir.RawItem{ID: string(id), Value: json.RawMessage(doc)}, nil) {
				return
			}
		}
	}
}

// appendReward writes a document of which about a fifth is as random as
// addresses and codes are; the rest repeats, as member names do.
func appendReward(b []byte, i int) []byte {
	x := scramble(uint64(i) + 1)
	b = append(b, `{"email":"`...)
	b = appendLetters(b, x, 10)
	b = append(b, `@example.com","coupon":"`...)
	b = appendLetters(b, scramble(x), 12)
	b = append(b, `","amount":`...)
	b = strconv.AppendUint(b, x%100_000, 10)
	return append(b, `,"lang":"en"}`...)
}

// appendLetters writes n letters and digits of five random bits each: cheaper than a number.
func appendLetters(b []byte, x uint64, n int) []byte {
	const letters = "abcdefghijklmnopqrstuvwxyz234567"
	for range n {
		b = append(b, letters[x&31])
		x >>= 5
	}
	return b
}

func scramble(x uint64) uint64 {
	x *= 0x9E3779B97F4A7C15
	x ^= x >> 32
	x *= 0xD6E8FEB86659FD93
	return x ^ x>>32
}
