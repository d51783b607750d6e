package pebblestore

import (
	"encoding/binary"
	"fmt"

	"github.com/weirhq/weir/store"
)

// A meta row tells how far a partition is; a lease row holds the newest token.
// Both are two numbers of 8 bytes.
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
