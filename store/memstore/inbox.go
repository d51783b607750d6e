package memstore

import (
	"context"
	"sort"

	"github.com/weirhq/weir/store"
)

// Append adds a message, unless its claim was made before.
func (s *Store) Append(ctx context.Context, partition int, body []byte, c store.Claim) error {
	p, err := s.lock(ctx, partition)
	if err != nil {
		return err
	}
	defer p.mu.Unlock()
	if c.Key != "" {
		if v, ok := p.claims[c.Key]; ok {
			return &store.ClaimedError{Value: clone(v)}
		}
		if c.Generation < p.generation {
			return store.ErrMoved
		}
		p.claims[c.Key] = clone(c.Value)
	}
	p.last++
	p.inbox = append(p.inbox, store.Message{Seq: p.last, Body: clone(body)})
	if p.wake != nil {
		close(p.wake)
		p.wake = nil
	}
	return nil
}

// CloseClaims refuses claims of earlier generations.
func (s *Store) CloseClaims(ctx context.Context, partition int, generation uint64) error {
	p, err := s.lock(ctx, partition)
	if err != nil {
		return err
	}
	defer p.mu.Unlock()
	p.generation = max(p.generation, generation)
	return nil
}

// Claimed returns the value of a claim.
func (s *Store) Claimed(ctx context.Context, partition int, key string) ([]byte, error) {
	p, err := s.lock(ctx, partition)
	if err != nil {
		return nil, err
	}
	defer p.mu.Unlock()
	v, ok := p.claims[key]
	if !ok {
		return nil, store.ErrNotFound
	}
	return clone(v), nil
}

// Read returns the messages after a sequence number, and waits for the first.
func (s *Store) Read(ctx context.Context, partition int, after uint64, limit int) ([]store.Message, error) {
	for {
		p, err := s.lock(ctx, partition)
		if err != nil {
			return nil, err
		}
		found, wake := p.read(after, limit)
		p.mu.Unlock()
		if len(found) > 0 {
			return found, nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
		case <-s.done:
		}
	}
}

// Peek implements [store.Inbox].
func (s *Store) Peek(ctx context.Context, partition int, after uint64, limit int) ([]store.Message, error) {
	p, err := s.lock(ctx, partition)
	if err != nil {
		return nil, err
	}
	defer p.mu.Unlock()
	found, _ := p.read(after, limit)
	return found, nil
}

// read returns copies of up to limit messages, at least one if there are any, or else a channel
// that is closed by the next message.
func (p *partition) read(after uint64, limit int) ([]store.Message, <-chan struct{}) {
	from := sort.Search(len(p.inbox), func(i int) bool { return p.inbox[i].Seq > after })
	if from == len(p.inbox) {
		if p.wake == nil {
			p.wake = make(chan struct{})
		}
		return nil, p.wake
	}
	n := min(len(p.inbox)-from, max(limit, 1))
	found := make([]store.Message, n)
	for i, m := range p.inbox[from : from+n] {
		found[i] = store.Message{Seq: m.Seq, Body: clone(m.Body)}
	}
	return found, nil
}

// ack removes the messages up to and including seq.
func (p *partition) ack(seq uint64) {
	n := sort.Search(len(p.inbox), func(i int) bool { return p.inbox[i].Seq > seq })
	if n == len(p.inbox) {
		p.inbox = nil // releases the bodies
		return
	}
	clear(p.inbox[:n])
	p.inbox = p.inbox[n:]
}
