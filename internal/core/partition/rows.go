package partition

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/store"
)

// The rows of a partition. Every key begins with its kind. Every value, except the
// empty ones of markers, ends with a CRC32C over key and value, so that a damaged
// row, or one stored under another key, is detected.
//
//	a id                   marks a bulk action that has not ended; a takeover loads these
//	b id                   its spec, written once
//	i id                   its only block, if that came with the message that created it
//	n id                   its status and counters
//	k id block             state of the items of a touched block
//	c id block commit      answers of the actions for items of the block
//	f id group             failures of one kind, counted
//	h id step              latencies at a step, written once a second and at the end
//	g id                   shared, at home: the shard of each range given out
//	r id shard             shared, at home: the newest tally of a shard
//	p id                   shared, at home: the part of each shard in the bulk action's own bounds
//	s id                   shared, elsewhere: the shard's newest orders
//	w tenant               marks a tenant with bulk actions here that have not ended
//	l resource             number of workers that the lane was given
//	v action               marks an action that has answered a call
//	e id commit            an event that was not delivered yet
//	x id                   tombstone: it was removed, and when
//	y id                   marks a bulk action under removal: its other rows go, too
//	j term id              index: the bulk action is found by the term
//	u item id              index: the bulk action has an item whose id has that hash
//	z time id              index: the bulk action is removed at that time, as it was submitted with
//	m name                 a joint filter
//	d name                 its members
//	q start                index: the last change of failed items of bulk actions whose ids start like that
//	o                      which node owns the partition, and how that ended
//	t                      time of the last commit
const (
	kindActive  = 'a'
	kindSpec    = 'b'
	kindInline  = 'i'
	kindStatus  = 'n'
	kindBlock   = 'k'
	kindResults = 'c'
	kindLatency = 'h'
	kindOwners  = 'g'
	kindTally   = 'r'
	kindParts   = 'p'
	kindShard   = 's'
	kindTenant  = 'w'
	kindLane    = 'l'
	kindAction  = 'v'
	kindEvent   = 'e'
	kindTime    = 't'
	kindGroup   = 'f'
	kindTenure  = 'o'

	kindTerm = 'j'
	kindItem = 'u'
	kindDue  = 'z'
	kindMark = 'q'

	kindJoint   = 'm'
	kindMembers = 'd'

	kindTombstone = 'x'
	kindRemoving  = 'y'
)

func rowKey(kind byte, id weir.BulkID) []byte { return append([]byte{kind}, id...) }

func activeKey(id weir.BulkID) []byte { return rowKey(kindActive, id) }
func specKey(id weir.BulkID) []byte   { return rowKey(kindSpec, id) }
func inlineKey(id weir.BulkID) []byte { return rowKey(kindInline, id) }
func statusKey(id weir.BulkID) []byte { return rowKey(kindStatus, id) }

func ownersKey(id weir.BulkID) []byte { return rowKey(kindOwners, id) }
func partsKey(id weir.BulkID) []byte  { return rowKey(kindParts, id) }
func shardKey(id weir.BulkID) []byte  { return rowKey(kindShard, id) }
func tenantKey(name string) []byte    { return append([]byte{kindTenant}, name...) }
func laneKey(name string) []byte      { return append([]byte{kindLane}, name...) }
func actionKey(name string) []byte    { return append([]byte{kindAction}, name...) }

func tallyKey(id weir.BulkID, shard int) []byte { return append(rowKey(kindTally, id), byte(shard)) }

func timeKey() []byte { return []byte{kindTime} }

func blockKey(id weir.BulkID, no uint32) []byte {
	return binary.BigEndian.AppendUint32(rowKey(kindBlock, id), no)
}

func resultsKey(id weir.BulkID, no uint32, commit uint64) []byte {
	return binary.BigEndian.AppendUint64(resultsPrefix(id, no), commit)
}

func resultsPrefix(id weir.BulkID, no uint32) []byte {
	return binary.BigEndian.AppendUint32(rowKey(kindResults, id), no)
}

func latencyKey(id weir.BulkID, step int) []byte { return append(rowKey(kindLatency, id), byte(step)) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal appends the checksum of key and value.
func seal(key, value []byte) store.Row {
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
	return store.Row{Key: key, Value: binary.BigEndian.AppendUint32(value, sum)}
}

// SealJSON returns the row of a value, with its checksum.
func SealJSON(key []byte, v any) store.Row {
	raw, err := json.Marshal(v)
	must(err == nil, "encode row %q: %v", key, err)
	return seal(key, raw)
}

// unseal checks and removes the checksum.
func unseal(key, row []byte) ([]byte, error) {
	if len(row) < 4 {
		return nil, fmt.Errorf("row %q: %w: only %d bytes", key, store.ErrCorrupt, len(row))
	}
	value := row[:len(row)-4]
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
	if sum != binary.BigEndian.Uint32(row[len(row)-4:]) {
		return nil, fmt.Errorf("row %q: %w: checksum does not match", key, store.ErrCorrupt)
	}
	return value, nil
}

// UnsealJSON checks a row made by SealJSON, and decodes it.
func UnsealJSON(key, row []byte, v any) error {
	raw, err := unseal(key, row)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("row %q: %w: %w", key, store.ErrCorrupt, err)
	}
	return nil
}

// row returns a waiting retry as stored in its block's row.
func (r *retryTask) row() block.Retry {
	return block.Retry{
		Step: uint8(r.at.no), Attempt: uint8(min(r.attempt, 255)), Fails: uint8(min(r.fails, 255)), Due: r.due, Items: r.set(),
		Crashes: uint8(r.crashes), Started: r.started, Blamed: r.isBlamed(),
	}
}
