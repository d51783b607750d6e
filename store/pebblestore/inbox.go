package pebblestore

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/store"
)

// Append adds a message and its claim in one batch.
func (s *Store) Append(ctx context.Context, partition int, body []byte, c store.Claim) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.gate.leave()
	if err := s.space.allow(s, len(body)); err != nil {
		return err
	}
	p, err := s.partition(partition)
	if err != nil {
		return err
	}
	b, seq, err := s.append(p, body, c)
	if errors.Is(err, store.ErrClaimed) {
		// The earlier claim may still be on its way to the disk, and this answer must not
		// outlive it.
		return cmp.Or(s.flushInbox(p), err)
	}
	if err != nil {
		return err
	}
	if err := s.settle(b); err != nil {
		return err
	}
	p.arrive(seq)
	return nil
}

// append puts the message into the log. The lock keeps sequence numbers in the order of the
// log.
func (s *Store) append(p *partition, body []byte, c store.Claim) (*pebble.Batch, uint64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := s.db.NewBatchWithSize(len(body) + len(c.Key) + len(c.Value) + 64)
	if c.Key != "" {
		if err := s.claim(b, p, c); err != nil {
			return nil, 0, errors.Join(err, b.Close())
		}
	}
	seq := p.last + 1
	if err := b.Set(inboxKey(p.no, seq), body, nil); err != nil {
		return nil, 0, err
	}
	if err := s.enqueue(b); err != nil {
		return nil, 0, err
	}
	p.last = seq
	p.recent.add(seq, body)
	return b, seq, nil
}

// claim adds the claim to b, or returns a *ClaimedError if the key is taken.
func (s *Store) claim(b *pebble.Batch, p *partition, c store.Claim) error {
	key := claimKey(p.no, c.Key)
	v, err := s.get(key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		if c.Generation < p.open {
			return store.ErrMoved
		}
		return b.Set(key, c.Value, nil)
	case err != nil:
		return err
	}
	return &store.ClaimedError{Value: v}
}

// claimsFrom reads the first generation whose claims are accepted. It is stored as the claim
// with an empty key, which no message can make.
func (s *Store) claimsFrom(partition int) (uint64, error) {
	v, err := s.get(claimKey(partition, ""))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return 0, nil
	case err != nil:
		return 0, err
	case len(v) != 8:
		return 0, fmt.Errorf("generation of the claims of partition %d: %w", partition, store.ErrCorrupt)
	}
	return binary.BigEndian.Uint64(v), nil
}

// CloseClaims refuses claims of earlier generations.
func (s *Store) CloseClaims(ctx context.Context, partition int, generation uint64) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.gate.leave()
	p, err := s.partition(partition)
	if err != nil {
		return err
	}
	b, err := s.closeClaims(p, generation)
	if b == nil || err != nil {
		return cmp.Or(err, s.flush())
	}
	return s.settle(b)
}

func (s *Store) closeClaims(p *partition, generation uint64) (*pebble.Batch, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open >= generation {
		return nil, nil
	}
	b := s.db.NewBatch()
	if err := b.Set(claimKey(p.no, ""), binary.BigEndian.AppendUint64(nil, generation), nil); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	if err := s.enqueue(b); err != nil {
		return nil, err
	}
	p.open = generation
	return b, nil
}

// flushInbox waits until all visible messages and claims are durable. Then they can be read: a
// caller that learns of a claim looks for its message.
func (s *Store) flushInbox(p *partition) error {
	p.mu.Lock()
	last := p.last
	p.mu.Unlock()
	if p.durableSeq.Load() >= last {
		return nil
	}
	if err := s.flush(); err != nil {
		return err
	}
	p.arrive(last)
	return nil
}

// arrive makes the messages up to seq readable: those before it in the log are durable too.
func (p *partition) arrive(seq uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	raise(&p.durableSeq, seq)
	if p.wake != nil {
		close(p.wake)
		p.wake = nil
	}
}

// Claimed returns the value of a claim, once it is durable.
func (s *Store) Claimed(ctx context.Context, partition int, key string) ([]byte, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.gate.leave()
	p, err := s.partition(partition)
	if err != nil {
		return nil, err
	}
	v, err := s.get(claimKey(partition, key))
	if err != nil {
		return nil, err
	}
	return v, s.flushInbox(p)
}

// Read returns the messages after a sequence number, and waits for the first.
func (s *Store) Read(ctx context.Context, partition int, after uint64, limit int) ([]store.Message, error) {
	for {
		found, wake, err := s.read(ctx, partition, after, limit)
		if err != nil || len(found) > 0 {
			return found, err
		}
		select {
		case <-wake:
		case <-ctx.Done():
		case <-s.gate.shut:
		case <-s.guard.broken:
		}
	}
}

// Peek implements [store.Inbox].
func (s *Store) Peek(ctx context.Context, partition int, after uint64, limit int) ([]store.Message, error) {
	found, _, err := s.read(ctx, partition, after, limit)
	return found, err
}

func (s *Store) read(ctx context.Context, no int, after uint64, limit int) ([]store.Message, <-chan struct{}, error) {
	if err := s.enter(ctx); err != nil {
		return nil, nil, err
	}
	defer s.gate.leave()
	p, err := s.partition(no)
	if err != nil {
		return nil, nil, err
	}
	upTo, found, wake := p.readable(after, max(limit, 1))
	if wake != nil || len(found) > 0 {
		return found, wake, nil
	}
	found, err = s.messages(no, after+1, upTo+1, max(limit, 1))
	if err == nil && len(found) == 0 { // acknowledged and removed by now: wait behind them
		return s.read(ctx, no, upTo, limit)
	}
	return found, nil, err
}

// readable returns up to where messages can be read, and those that are in memory; or a channel to wait on if there is
// none after seq.
func (p *partition) readable(seq uint64, limit int) (upTo uint64, found []store.Message, wake <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if upTo := p.durableSeq.Load(); upTo > max(seq, p.acked) {
		return upTo, p.recent.between(max(seq, p.acked), upTo, limit), nil
	}
	if p.wake == nil {
		p.wake = make(chan struct{})
	}
	return 0, nil, p.wake
}

func (s *Store) messages(no int, from, to uint64, limit int) ([]store.Message, error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: inboxKey(no, from), UpperBound: inboxKey(no, to)})
	if err != nil {
		return nil, readError(err)
	}
	var found []store.Message
	for ok := it.First(); ok && len(found) < limit; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return nil, errors.Join(readError(err), it.Close())
		}
		found = append(found, store.Message{Seq: seqOf(it.Key()), Body: append([]byte{}, v...)})
	}
	if err := it.Close(); err != nil {
		return nil, fmt.Errorf("read the inbox of partition %d: %w", no, readError(err))
	}
	return found, nil
}

func seqOf(key []byte) uint64 { return binary.BigEndian.Uint64(key[prefixLen:]) }
