package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/store"
)

// guardEvery is how soon a store that was set back is noticed by those who have submitted to it.
const guardEvery = time.Second

// watchOver looks after what this process has sent, for as long as it
// is recent. An engine that does not run has to do that, too.
func (e *Engine) watchOver(ctx context.Context, s *sent) {
	witness, ok := e.witness()
	if !ok {
		return
	}
	e.past.recent.add(s)
	if e.past.guarded.CompareAndSwap(false, true) {
		e.past.guards.Go(func() { e.guardSubmits(context.WithoutCancel(ctx), witness) })
	}
}

// guardSubmits puts in again what this process has submitted lately and the store
// has lost, until nothing is recent or the store is closed.
func (e *Engine) guardSubmits(ctx context.Context, witness store.Witness) {
	r := &e.past.recent
	for {
		looked, partitions := time.Now(), r.partitions()
		if len(partitions) == 0 {
			e.past.guarded.Store(false)
			if len(r.partitions()) == 0 || !e.past.guarded.CompareAndSwap(false, true) { // else something came in between
				return
			}
		}
		for no := range partitions {
			if err := e.guard(ctx, witness, no); err != nil {
				e.log.LogAttrs(ctx, slog.LevelWarn, "recent submits not looked after, will try again", slog.Int("partition", no), slog.Any("error", err))
				delete(partitions, no) // what could not be looked after does not become old
			}
		}
		r.expire(partitions, looked.Add(-rememberFor))
		select {
		case <-time.After(guardEvery):
		case <-witness.Done():
			return
		case <-e.past.stop:
			return
		}
	}
}

// guard puts in again what is recent in a partition, if it was sent to another
// incarnation of the store than the present one.
func (e *Engine) guard(ctx context.Context, witness store.Witness, no int) error {
	ctx, cancel := context.WithTimeout(ctx, e.opts.LeaseFor)
	defer cancel()
	life, err := witness.Incarnation(ctx, no)
	if err != nil {
		return err
	}
	r := &e.past.recent
	for _, s := range r.doubtful(no, life) {
		if err := e.sendAgain(ctx, s); err != nil {
			return err
		}
		r.settle(s, life)
	}
	return nil
}

// sendAgain repeats a command, or what is missing of a submit. All of it may be
// repeated: blocks stay as they are, and the owner knows what it has.
func (e *Engine) sendAgain(ctx context.Context, s *sent) error {
	if s.created == nil {
		return e.store.Append(ctx, s.partition, s.command, store.Claim{})
	}
	blocks := e.past.recent.blocks(s)
	if blocks == nil {
		return e.checkSent(ctx, s)
	}
	if err := e.putAgain(ctx, s, blocks); err != nil {
		return err
	}
	if there, err := e.there(ctx, s); there || err != nil {
		return err
	}
	if err := e.announceAgain(ctx, s); err != nil {
		return err
	}
	// Before the message was there the blocks may have passed for garbage.
	if _, err := e.store.GetBlock(ctx, s.partition, s.created.ID, 0); errors.Is(err, store.ErrNotFound) {
		return e.putAgain(ctx, s, blocks)
	}
	return nil
}

// there reports whether the store has a bulk action and the claim of its idempotency
// key. The owner may have put back the one without the other.
func (e *Engine) there(ctx context.Context, s *sent) (bool, error) {
	_, _, err := partition.ReadStatus(rows{ctx, e.store, s.partition}, s.created.ID)
	if err == nil && s.claim.Key != "" {
		_, err = e.store.Claimed(ctx, s.partition, s.claim.Key)
	}
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (e *Engine) putAgain(ctx context.Context, s *sent, blocks map[uint32][]byte) error {
	for _, no := range slices.Sorted(maps.Keys(blocks)) {
		if err := e.store.PutBlocks(ctx, s.partition, s.created.ID, no, [][]byte{blocks[no]}); err != nil {
			return err
		}
	}
	return nil
}

// announceAgain makes the bulk action known to its partition, in words that have
// the owner look whether it knows it already.
func (e *Engine) announceAgain(ctx context.Context, s *sent) error {
	c := *s.created
	c.Again = true
	body, err := partition.EncodeCreated(c)
	if err != nil {
		return err
	}
	err = e.store.Append(ctx, s.partition, body, s.claim)
	if errors.Is(err, store.ErrMoved) { // its key counts elsewhere by now; the bulk action stays
		err = e.store.Append(ctx, s.partition, body, store.Claim{})
	}
	var taken *store.ClaimedError
	if errors.As(err, &taken) {
		if !bytes.Equal(taken.Value, s.claim.Value) {
			e.lose(ctx, s, "its idempotency key was used again since, so that other bulk action stands for it")
		}
		return nil
	}
	return err
}

// checkSent looks for a submit that was too large to be kept.
func (e *Engine) checkSent(ctx context.Context, s *sent) error {
	c := s.created
	_, err := e.findSpec(ctx, s.partition, c.ID)
	if err == nil && c.Blocks() > 0 {
		_, err = e.store.GetBlock(ctx, s.partition, c.ID, c.Blocks()-1)
	}
	if errors.Is(err, store.ErrNotFound) {
		e.lose(ctx, s, "it was too large to be kept here: submit it again")
		return nil
	}
	return err
}

// lose tells openly that an accepted bulk action is lost.
func (e *Engine) lose(ctx context.Context, s *sent, why string) {
	err := fmt.Errorf("bulk action %s was accepted, and the store has lost it: %s", s.created.ID, why)
	e.log.LogAttrs(ctx, slog.LevelError, "accepted bulk action lost", slog.Any("error", err))
	e.past.recent.lose(err)
}

// mayReturn reports whether blocks that are not there may yet be put in again by who submitted them.
func (e *Engine) mayReturn(id weir.BulkID) bool {
	return e.remembers() && time.Since(submitBegan(id)) < 3*rememberFor
}

// again marks a message that was put in again; an item's text cannot contain it, for its quotes are escaped there.
var again = []byte(`"again":true`)

// siftAgain silences messages that were put in again although the store had not
// lost them, or not for long: what has become of the bulk action is stored. One
// that the machine has and has not committed yet is ignored there.
func (p *part) siftAgain(ctx context.Context, msgs []store.Message) error {
	for i := range msgs {
		if !bytes.Contains(msgs[i].Body, again) {
			continue
		}
		c, _, err := partition.DecodeMessage(msgs[i])
		if err != nil || c == nil || !c.Again {
			continue // the machine will say what is wrong with it
		}
		_, _, err = partition.ReadStatus(rows{ctx, p.engine.store, p.no}, c.ID)
		if errors.Is(err, store.ErrNotFound) {
			if err = p.engine.gone(ctx, p.no, c.ID); err == nil {
				err = p.engine.whole(ctx, p.no) // or it may be among what is put back in a moment
			}
			if err == nil {
				continue
			}
		}
		if err != nil && !errors.Is(err, weir.ErrExpired) {
			return err
		}
		if msgs[i].Body, err = partition.EncodeMark("known"); err != nil {
			return err
		}
	}
	return nil
}
