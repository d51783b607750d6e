package redisstore

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/redis/rueidis"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// A server checks neither its memory nor the content of its log, so every block, message, claim
// and row ends with a CRC32C of its place and content. That detects both a flipped byte and a
// value under the wrong key, whatever the engine has stored.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const sumLen = 4

// place is the place of a value, as a running checksum.
type place uint32

func placeOf(kind byte, partition int) place {
	var b [9]byte
	b[0] = kind
	binary.BigEndian.PutUint64(b[1:], uint64(partition))
	return place(crc32.Checksum(b[:], castagnoli))
}

func (p place) and(name []byte) place { return place(crc32.Update(uint32(p), castagnoli, name)) }

func blockPlace(partition int, id weir.BulkID, no uint32) place {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], no)
	return placeOf('b', partition).and([]byte(id)).and(b[:])
}

func messagePlace(partition int) place { return placeOf('m', partition) }

func claimPlace(partition int, key string) place { return placeOf('c', partition).and([]byte(key)) }

func rowPlace(partition int, key []byte) place { return placeOf('r', partition).and(key) }

// sum returns the checksum of a value at p.
func (p place) sum(value []byte) uint32 { return crc32.Update(uint32(p), castagnoli, value) }

// sealed returns a copy of a value with its checksum.
func (p place) sealed(value []byte) string {
	b := append(make([]byte, 0, len(value)+sumLen), value...)
	return rueidis.BinaryString(binary.BigEndian.AppendUint32(b, p.sum(value)))
}

// unseal checks a value and removes its checksum.
func (p place) unseal(what string, partition int, b []byte) ([]byte, error) {
	n := len(b) - sumLen
	if n < 0 || binary.BigEndian.Uint32(b[n:]) != p.sum(b[:n]) {
		return nil, fmt.Errorf("%s, partition %d: %w: its checksum does not match", what, partition, store.ErrCorrupt)
	}
	return b[:n:n], nil
}
