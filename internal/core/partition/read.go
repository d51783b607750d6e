package partition

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/store"
)

// ReadStatus reads the spec and the progress of a bulk action, ended or not.
func ReadStatus(rows Rows, id weir.BulkID) (*Created, *Status, error) {
	spec, status := &Created{}, &Status{}
	if err := readStatus(rows, id, spec, status); err != nil {
		return nil, nil, err
	}
	return spec, status, nil
}

func readStatus(rows Rows, id weir.BulkID, spec *Created, status *Status) error {
	if err := readJSON(rows, specKey(id), spec); err != nil {
		return err
	}
	return readJSON(rows, statusKey(id), status)
}

// ReadInline returns the block of a bulk action that is inline, or store.ErrNotFound.
func ReadInline(rows Rows, id weir.BulkID) ([]byte, error) {
	key := inlineKey(id)
	row, err := rows.Get(key)
	if err != nil {
		return nil, err
	}
	return unseal(key, row)
}

func readJSON(rows Rows, key []byte, v any) error {
	raw, err := rows.Get(key)
	if err != nil {
		return err
	}
	return UnsealJSON(key, raw, v)
}

// LastStart returns the latest time at which an earlier owner may have started a task: now if
// it left work behind, else its last commit; 0 if it never started one.
func LastStart(rows Rows, now int64) (int64, error) {
	left := errors.New("work was left behind")
	err := rows.Scan([]byte{kindActive}, func(_, _ []byte) error { return left })
	if errors.Is(err, left) {
		return now, nil
	}
	if err != nil {
		return 0, err
	}
	row, err := rows.Get(timeKey())
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	raw, err := unseal(timeKey(), row)
	if err != nil {
		return 0, err
	}
	if len(raw) != 8 {
		return 0, fmt.Errorf("time of the last commit: %w: %d bytes", store.ErrCorrupt, len(raw))
	}
	return min(now, int64(binary.BigEndian.Uint64(raw))), nil
}

// EachBulk calls yield with the id of every bulk action and shard whose id begins with prefix, in order.
func EachBulk(rows Rows, prefix string, yield func(weir.BulkID) error) error {
	return eachID(rows, kindSpec, prefix, yield)
}

// EachUnfinished calls yield with the id of every bulk action and shard that has not ended, in order.
func EachUnfinished(rows Rows, yield func(weir.BulkID) error) error {
	return eachID(rows, kindActive, "", yield)
}

func eachID(rows Rows, kind byte, prefix string, yield func(weir.BulkID) error) error {
	return rows.Scan(rowKey(kind, weir.BulkID(prefix)), func(key, _ []byte) error { return yield(weir.BulkID(key[1:])) })
}

// ReadBlocks calls yield with the state of every touched block of a bulk action, in order.
func ReadBlocks(rows Rows, c *Created, yield func(no uint32, s *block.State) error) error {
	return rows.Scan(rowKey(kindBlock, c.ID), func(key, row []byte) error {
		raw, err := unseal(key, row)
		if err != nil {
			return err
		}
		no := binary.BigEndian.Uint32(key[len(key)-4:])
		var s block.State
		if err := s.Decode(raw, len(c.Steps)); err != nil {
			return fmt.Errorf("block %d: %w: %w", no, store.ErrCorrupt, err)
		}
		return yield(no, &s)
	})
}

// ReadResults calls yield with every answer of the actions for items of a block.
func ReadResults(rows Rows, codec *block.Codec, id weir.BulkID, no uint32, yield func(block.Result) error) error {
	return rows.Scan(resultsPrefix(id, no), func(_, row []byte) error { return codec.EachResult(row, yield) })
}

// ReadLatency returns the run times of tasks at a step, or nil if they are unknown.
func ReadLatency(rows Rows, id weir.BulkID, step int) (*hdrhistogram.Histogram, error) {
	l, err := readLatency(rows, id, step)
	return l.histogram(), err
}

func readLatency(rows Rows, id weir.BulkID, step int) (l latency, err error) {
	key := latencyKey(id, step)
	row, err := rows.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	raw, err := unseal(key, row)
	if err != nil {
		return l, err
	}
	return l, l.decode(raw)
}
