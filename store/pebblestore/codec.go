package pebblestore

import (
	"encoding/binary"
	"fmt"

	"github.com/weirhq/weir/store"
)

// A lease row holds the newest token: two numbers of 8 bytes. A meta row holds a partition's
// progress, the number of the last commit and the newest removed message, and then the token of
// that commit, which older rows do not have.
const pairLen = 16

func encodePair(a, b uint64) []byte {
	v := binary.BigEndian.AppendUint64(make([]byte, 0, pairLen), a)
	return binary.BigEndian.AppendUint64(v, b)
}

func decodePair(v []byte) (a, b uint64, err error) {
	if len(v) != pairLen {
		return 0, 0, fmt.Errorf("%w: row of %d bytes, want %d", store.ErrCorrupt, len(v), pairLen)
	}
	return binary.BigEndian.Uint64(v), binary.BigEndian.Uint64(v[8:]), nil
}

func encodeMeta(number, acked uint64, by store.Token) []byte {
	return append(encodePair(number, acked), encodePair(by.Epoch, by.Nonce)...)
}

func decodeMeta(v []byte) (number, acked uint64, by store.Token, err error) {
	if len(v) == 2*pairLen {
		by.Epoch, by.Nonce, _ = decodePair(v[pairLen:]) // it has the length
		v = v[:pairLen]
	}
	number, acked, err = decodePair(v)
	return number, acked, by, err
}
