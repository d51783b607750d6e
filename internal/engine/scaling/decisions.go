package scaling

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/coord"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/core/scale"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// The rows of [store.Control], which the leader writes.
//
//	d lane 0 time number   a decision
//	f resource 0 time number   that flow control began or ceased to hold it down at a node
//	y resource             what each hour of the week needed
const (
	kindDecision = 'd'
	kindChange   = 'f'
	kindHistory  = 'y'
)

const (
	keepDecisions = 200             // of each lane, and changes of each resource
	writeHistory  = 5 * time.Minute // between writes of what the hours needed
)

// decisionsOf is the prefix of a lane's decisions.
func decisionsOf(lane weir.LaneID) []byte {
	return append(append([]byte{kindDecision}, lane.String()...), 0)
}

func changesOf(resource string) []byte {
	return append(append([]byte{kindChange}, resource...), 0)
}

// decisionBook is where a leader stores its decisions. It belongs to one goroutine.
type decisionBook struct {
	leader  *own.Leader
	keys    map[string][][]byte // stored, oldest first, by prefix; nil: not known
	learned bool                // the histories are read
	number  uint32
	history time.Time // when the histories were written last
}

// open reads what earlier leaders stored.
func (b *decisionBook) open(ctx context.Context, c *coord.Coordinator) error {
	at := b.leader.Rows(ctx)
	if err := b.readKeys(at, c); err != nil || b.learned {
		return err
	}
	b.history = time.Now()
	err := at.Scan([]byte{kindHistory}, func(key, row []byte) error {
		var h scale.History
		err := partition.UnsealJSON(key, row, &h)
		c.SetHistory(string(key[1:]), h)
		return err
	})
	b.learned = err == nil
	return err
}

// readKeys finds out what is stored, unless that is known.
func (b *decisionBook) readKeys(at stored.Rows, c *coord.Coordinator) error {
	if b.keys != nil {
		return nil
	}
	keys := map[string][][]byte{}
	note := func(key []byte) {
		about := string(key[:bytes.IndexByte(key, 0)+1])
		keys[about] = append(keys[about], bytes.Clone(key))
	}
	err := eachDecision(at, func(key []byte, d *weir.Decision) { note(key); c.Remember(d) })
	if err != nil {
		return err
	}
	err = at.Scan([]byte{kindChange}, func(key, _ []byte) error { note(key); return nil })
	if err == nil {
		b.keys = keys
	}
	return err
}

// eachDecision yields all stored decisions, those of a lane in the order of their making.
func eachDecision(from stored.Rows, yield func(key []byte, d *weir.Decision)) error {
	return from.Scan([]byte{kindDecision}, func(key, row []byte) error {
		d := &weir.Decision{}
		if err := partition.UnsealJSON(key, row, d); err != nil {
			return err
		}
		yield(key, d)
		return nil
	})
}

// write stores decisions and changes, and now and then what the hours needed. Of
// each lane and resource the newest are kept.
func (b *decisionBook) write(ctx context.Context, now time.Time, c *coord.Coordinator, all []weir.Decision,
	changes []weir.ResourceChange) error {
	batch := &store.Batch{}
	for i := range all {
		b.add(batch, decisionsOf(all[i].Lane), all[i].At, &all[i])
	}
	for i := range changes {
		b.add(batch, changesOf(changes[i].Name), changes[i].At, &changes[i])
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
	err := b.leader.Commit(ctx, batch)
	if err != nil {
		b.keys = nil // what of it is stored is not known
	}
	return err
}

func (b *decisionBook) add(batch *store.Batch, about []byte, at time.Time, value any) {
	b.number++
	key := binary.BigEndian.AppendUint64(bytes.Clone(about), uint64(at.UnixNano()))
	key = binary.BigEndian.AppendUint32(key, b.number)
	batch.Set = append(batch.Set, partition.SealJSON(key, value))
	kept := append(b.keys[string(about)], key)
	if len(kept) > keepDecisions {
		batch.Delete = append(batch.Delete, kept[0])
		kept = kept[1:]
	}
	b.keys[string(about)] = kept
}

// Decisions returns the newest decisions about a lane, at most so many, the newest first. Those
// of a shadow policy are among them.
func Decisions(ctx context.Context, s store.State, lane weir.LaneID, most int) ([]weir.Decision, error) {
	return newest[weir.Decision](stored.At(ctx, s, store.Control), decisionsOf(lane), most)
}

// Changes returns when flow control began or ceased to hold a resource down, at most so many, the newest first.
func Changes(ctx context.Context, s store.State, resource string, most int) ([]weir.ResourceChange, error) {
	return newest[weir.ResourceChange](stored.At(ctx, s, store.Control), changesOf(resource), most)
}

// newest reads the last rows of a prefix, the last one first.
func newest[T any](from stored.Rows, prefix []byte, most int) (all []T, err error) {
	err = from.Scan(prefix, func(key, row []byte) error {
		var v T
		err := partition.UnsealJSON(key, row, &v)
		all = append(all, v)
		return err
	})
	slices.Reverse(all)
	return all[:max(min(most, len(all)), 0)], err
}
