package engine

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/coord"
	"github.com/weirhq/weir/internal/partition"
	"github.com/weirhq/weir/internal/scale"
	"github.com/weirhq/weir/store"
)

// The rows of [store.Control], which the leader writes.
//
//	d lane 0 time number   a decision
//	y resource             what each hour of the week needed
const (
	kindDecision = 'd'
	kindHistory  = 'y'
)

const (
	keepDecisions = 200             // of each lane
	writeHistory  = 5 * time.Minute // between writes of what the hours needed
)

// decisionsOf is the prefix of a lane's decisions.
func decisionsOf(lane weir.LaneID) []byte {
	return append(append([]byte{kindDecision}, lane.String()...), 0)
}

// decisionBook is where a leader stores its decisions. It belongs to one goroutine.
type decisionBook struct {
	leader  *leader
	opened  bool
	keys    map[weir.LaneID][][]byte // stored, oldest first
	number  uint32
	history time.Time // when the histories were written last
}

// open reads what earlier leaders stored.
func (b *decisionBook) open(ctx context.Context, c *coord.Coordinator) error {
	if b.opened {
		return nil
	}
	b.keys, b.history = map[weir.LaneID][][]byte{}, time.Now()
	at := rows{ctx, b.leader.engine.store, store.Control}
	err := at.Scan([]byte{kindDecision}, func(key, row []byte) error {
		var d weir.Decision
		if err := partition.UnsealJSON(key, row, &d); err != nil {
			return err
		}
		b.keys[d.Lane] = append(b.keys[d.Lane], append([]byte(nil), key...))
		return nil
	})
	if err != nil {
		return err
	}
	err = at.Scan([]byte{kindHistory}, func(key, row []byte) error {
		var h scale.History
		err := partition.UnsealJSON(key, row, &h)
		c.SetHistory(string(key[1:]), h)
		return err
	})
	b.opened = err == nil
	return err
}

// write stores decisions, and now and then what the hours needed. Of each lane
// the newest are kept.
func (b *decisionBook) write(ctx context.Context, now time.Time, c *coord.Coordinator, all []weir.Decision) error {
	batch := &store.Batch{}
	for i := range all {
		d := &all[i]
		b.number++
		key := binary.BigEndian.AppendUint64(decisionsOf(d.Lane), uint64(d.At.UnixNano()))
		key = binary.BigEndian.AppendUint32(key, b.number)
		batch.Set = append(batch.Set, partition.SealJSON(key, d))
		kept := append(b.keys[d.Lane], key)
		if len(kept) > keepDecisions {
			batch.Delete = append(batch.Delete, kept[0])
			kept = kept[1:]
		}
		b.keys[d.Lane] = kept
	}
	if now.Sub(b.history) >= writeHistory {
		b.history = now
		for resource, h := range c.Histories() {
			batch.Set = append(batch.Set, partition.SealJSON(append([]byte{kindHistory}, resource...), h))
		}
	}
	if len(batch.Set) == 0 {
		return nil
	}
	return b.leader.commit(ctx, batch)
}

// Decisions reads the newest decisions about a lane, the newest first. Those of
// a shadow policy are among them.
func (e *Engine) Decisions(ctx context.Context, lane weir.LaneID, most int) (all []weir.Decision, err error) {
	err = rows{ctx, e.store, store.Control}.Scan(decisionsOf(lane), func(key, row []byte) error {
		var d weir.Decision
		err := partition.UnsealJSON(key, row, &d)
		all = append(all, d)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
		all[i], all[j] = all[j], all[i]
	}
	return all[:min(most, len(all))], nil
}
