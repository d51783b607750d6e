package pebblestore

import (
	"encoding/binary"
	"fmt"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store"
)

// Every key begins with its kind and its partition. What follows is:
//
//	block  length of the id (1 byte), id, block number (4 bytes)
//	inbox  sequence number (8 bytes)
//	claim  the claim's key
//	row    the row's key
//	name   the name of a lasting record
//	meta, lease: nothing
//
// Numbers are big-endian, so that the order of keys is the order of numbers.
const (
	kindBlock byte = 'b'
	kindClaim byte = 'c'
	kindInbox byte = 'i'
	kindLease byte = 'l'
	kindMeta  byte = 'm'
	kindName  byte = 'n'
	kindRow   byte = 'r'
)

const prefixLen = 5

// maxID is the largest length that fits the length byte of a block's key.
const maxID = 255

func prefix(kind byte, partition int) []byte {
	k := make([]byte, prefixLen, prefixLen+32)
	k[0] = kind
	binary.BigEndian.PutUint32(k[1:], uint32(partition))
	return k
}

func inboxKey(partition int, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(prefix(kindInbox, partition), seq)
}

func claimKey(partition int, key string) []byte {
	return append(prefix(kindClaim, partition), key...)
}

func rowKey(partition int, key []byte) []byte {
	return append(prefix(kindRow, partition), key...)
}

// recordKey returns the key of a lasting record of the registry.
func recordKey(name string) []byte { return append(prefix(kindName, store.Control), name...) }

// blocksKey returns the prefix of the keys of a bulk action's blocks.
func blocksKey(partition int, id weir.BulkID) ([]byte, error) {
	if id == "" || len(id) > maxID {
		return nil, fmt.Errorf("bulk action id %.40q: %d bytes long, want 1 to %d", string(id), len(id), maxID)
	}
	return append(append(prefix(kindBlock, partition), byte(len(id))), id...), nil
}

// blockOwner reads the id from a block's key.
func blockOwner(key []byte) (weir.BulkID, bool) {
	if len(key) <= prefixLen {
		return "", false
	}
	n := int(key[prefixLen])
	if len(key) != prefixLen+1+n+4 {
		return "", false
	}
	return weir.BulkID(key[prefixLen+1 : prefixLen+1+n]), true
}

// after returns the first key behind all keys that begin with p. It changes p.
func after(p []byte) []byte {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i]++; p[i] != 0 {
			return p[:i+1]
		}
	}
	return nil // no key is behind
}
