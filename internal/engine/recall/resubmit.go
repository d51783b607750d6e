package recall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// guardEvery is how soon a store that was set back is noticed by those who have submitted to it.
const guardEvery = time.Second

// Submits is what this process remembers of its submits and commands, and puts in again if the store
// has lost it.
type Submits struct {
	store    stored.Source
	witness  store.Witness // nil: there is nothing to remember
	leaseFor time.Duration
	log      *slog.Logger

	recent  recent
	guarded atomic.Bool // a goroutine looks after what is recent
	guards  sync.WaitGroup
	stop    chan struct{} // closed by End: nothing is looked after any more
}

// End waits for those who look after what is recent.
func (p *Submits) End() {
	close(p.stop)
	p.guards.Wait()
}

// Losses returns the submits that the store has lost for good.
func (p *Submits) Losses() error { return p.recent.losses() }

// Submit begins to remember a submit to a partition, before its first block is written; nil if nothing needs to be.
func (p *Submits) Submit(no int) *Kept {
	if p.witness == nil {
		return nil
	}
	return p.recent.begin(no)
}

// Submitted looks after a submit that was accepted, for as long as it is recent.
func (p *Submits) Submitted(ctx context.Context, no int, c *partition.Created, claim store.Claim, k *Kept) {
	if k != nil {
		spec := *c
		spec.Block = nil // it is among what is kept
		p.watchOver(ctx, &sent{partition: no, at: time.Now(), created: &spec, claim: claim, kept: k, life: k.life})
	}
}

// Staged looks after items that were set aside, for as long as they are recent. They are put back whether or not a bulk
// action has adopted them: if none does, they are removed as all that nothing needs.
func (p *Submits) Staged(ctx context.Context, no int, name weir.BulkID, k *Kept) {
	if k != nil {
		p.watchOver(ctx, &sent{partition: no, at: time.Now(), stage: name, kept: k, life: k.life})
	}
}

// Unstaged forgets items that were set aside and are dropped.
func (p *Submits) Unstaged(name weir.BulkID) {
	if p.witness != nil {
		p.recent.unstage(name)
	}
}

// Command sends a command to a partition, and looks after it for as long as it is recent.
func (p *Submits) Command(ctx context.Context, no int, c partition.Command) error {
	body, err := partition.EncodeCommand(c)
	if err != nil {
		return err
	}
	s := &sent{partition: no, command: &c, life: p.recent.life(no)}
	if err := p.store.Append(ctx, no, body, store.Claim{}); err != nil {
		return err
	}
	s.at = time.Now()
	p.watchOver(ctx, s)
	return nil
}

// watchOver looks after what this process has sent, for as long as it
// is recent. An engine that does not run has to do that, too.
func (p *Submits) watchOver(ctx context.Context, s *sent) {
	if p.witness == nil {
		return
	}
	p.recent.add(s)
	if p.guarded.CompareAndSwap(false, true) {
		p.guards.Go(func() { p.guardSubmits(context.WithoutCancel(ctx)) })
	}
}

// guardSubmits puts in again what this process has submitted lately and the store
// has lost, until nothing is recent or the store is closed.
func (p *Submits) guardSubmits(ctx context.Context) {
	r := &p.recent
	for {
		looked, partitions := time.Now(), r.partitions()
		if len(partitions) == 0 {
			p.guarded.Store(false)
			if len(r.partitions()) == 0 || !p.guarded.CompareAndSwap(false, true) { // else something came in between
				return
			}
		}
		for no := range partitions {
			if err := p.guard(ctx, no); err != nil {
				p.log.LogAttrs(ctx, slog.LevelWarn, "recent submits not looked after, will try again", slog.Int("partition", no),
					slog.Any("error", err))
				delete(partitions, no) // what could not be looked after does not become old
			}
		}
		r.expire(partitions, looked.Add(-rememberFor))
		select {
		case <-time.After(guardEvery):
		case <-p.witness.Done():
			return
		case <-p.stop:
			return
		}
	}
}

// guard puts in again what is recent in a partition, if it was sent to another
// incarnation of the store than the present one.
func (p *Submits) guard(ctx context.Context, no int) error {
	ctx, cancel := context.WithTimeout(ctx, p.leaseFor)
	defer cancel()
	life, err := p.witness.Incarnation(ctx, no)
	if err != nil {
		return err
	}
	r := &p.recent
	for _, s := range r.doubtful(no, life) {
		if err := p.sendAgain(ctx, s); err != nil {
			return err
		}
		r.settle(s, life)
	}
	return nil
}

// sendAgain repeats a command, or what is missing of a submit. All of it may be
// repeated: blocks stay as they are, and the owner knows what it has.
func (p *Submits) sendAgain(ctx context.Context, s *sent) error {
	switch {
	case s.stage != "": // without its blocks nothing can be done: who reads it says what is missing
		return p.putBlocks(ctx, s.partition, s.stage, p.recent.blocks(s))
	case s.command != nil:
		c := *s.command
		c.Again = true
		body, err := partition.EncodeCommand(c)
		if err != nil {
			return err
		}
		return p.store.Append(ctx, s.partition, body, store.Claim{})
	}
	blocks := p.recent.blocks(s)
	if blocks == nil {
		return p.checkSent(ctx, s)
	}
	if err := p.putAgain(ctx, s, blocks); err != nil {
		return err
	}
	if there, err := p.there(ctx, s); there || err != nil {
		return err
	}
	if err := p.announceAgain(ctx, s, blocks); err != nil {
		return err
	}
	if s.created.Inline {
		return nil
	}
	for _, st := range p.recent.stages(s.created) {
		if err := p.putBlocks(ctx, st.partition, st.stage, p.recent.blocks(st)); err != nil {
			return err
		}
	}
	// Before the message was there the blocks may have passed for garbage.
	if _, err := p.store.GetBlock(ctx, s.partition, s.created.ID, 0); errors.Is(err, store.ErrNotFound) {
		return p.putAgain(ctx, s, blocks)
	}
	return nil
}

// there reports whether the store has a bulk action and the claim of its idempotency
// key. The owner may have put back the one without the other. One whose message waits in the
// inbox for the owner's commit is there.
func (p *Submits) there(ctx context.Context, s *sent) (bool, error) {
	_, err := stored.FindSpec(ctx, p.store, s.partition, s.created.ID)
	if errors.Is(err, weir.ErrExpired) {
		return true, nil // it has ended, and was removed
	}
	if err == nil && s.claim.Key != "" {
		_, err = p.store.Claimed(ctx, s.partition, s.claim.Key)
	}
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (p *Submits) putAgain(ctx context.Context, s *sent, blocks map[uint32][]byte) error {
	if s.created.Inline { // its message brings it along
		return nil
	}
	return p.putBlocks(ctx, s.partition, s.created.ID, blocks)
}

func (p *Submits) putBlocks(ctx context.Context, no int, name weir.BulkID, blocks map[uint32][]byte) error {
	for _, at := range slices.Sorted(maps.Keys(blocks)) {
		if err := p.store.PutBlocks(ctx, no, name, at, [][]byte{blocks[at]}); err != nil {
			return err
		}
	}
	return nil
}

// announceAgain makes the bulk action known to its partition, in words that have
// the owner look whether it knows it already.
func (p *Submits) announceAgain(ctx context.Context, s *sent, blocks map[uint32][]byte) error {
	c := *s.created
	c.Again = true
	if c.Inline {
		c.Block = blocks[0]
	}
	body, err := partition.EncodeCreated(c)
	if err != nil {
		return err
	}
	err = p.store.Append(ctx, s.partition, body, s.claim)
	if errors.Is(err, store.ErrMoved) { // its key counts elsewhere by now; the bulk action stays
		err = p.store.Append(ctx, s.partition, body, store.Claim{})
	}
	var taken *store.ClaimedError
	if errors.As(err, &taken) {
		if !bytes.Equal(taken.Value, s.claim.Value) {
			p.lose(ctx, s, "its idempotency key was used again since, so that other bulk action stands for it")
		}
		return nil
	}
	return err
}

// checkSent looks for a submit that was too large to be kept.
func (p *Submits) checkSent(ctx context.Context, s *sent) error {
	c := s.created
	_, err := stored.FindSpec(ctx, p.store, s.partition, c.ID)
	if err == nil && c.Blocks() > 0 && !c.Inline {
		name, at := c.BlockAt(c.Blocks() - 1)
		_, err = p.store.GetBlock(ctx, s.partition, name, at)
	}
	if errors.Is(err, store.ErrNotFound) {
		p.lose(ctx, s, "it was too large to be kept here: submit it again")
		return nil
	}
	return err
}

// lose tells openly that an accepted bulk action is lost.
func (p *Submits) lose(ctx context.Context, s *sent, why string) {
	err := fmt.Errorf("bulk action %s was accepted, and the store has lost it: %s", s.created.ID, why)
	p.log.LogAttrs(ctx, slog.LevelError, "accepted bulk action lost", slog.Any("error", err))
	p.recent.lose(err)
}

// MayReturn reports whether blocks that are not there may yet be put in again by who submitted them.
func (p *Submits) MayReturn(id weir.BulkID) bool {
	return p.witness != nil && time.Since(stored.Began(id)) < 3*rememberFor
}
