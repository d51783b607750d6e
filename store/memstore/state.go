package memstore

import (
	"context"
	"sort"
	"strings"

	"github.com/weirhq/weir/store"
)

// Commit writes b, if tok is the newest token and b's number the next.
func (s *Store) Commit(ctx context.Context, partition int, tok store.Token, b *store.Batch) error {
	p, err := s.lock(ctx, partition)
	if err != nil {
		return err
	}
	defer p.mu.Unlock()
	if !p.lease.valid(tok) {
		return store.ErrFenced
	}
	if b.Number != p.commit.Number+1 {
		return &store.NumberError{Got: b.Number, Want: p.commit.Number + 1}
	}
	p.commit = store.Last{Number: b.Number, By: tok}
	for _, k := range b.Delete {
		delete(p.rows, string(k))
	}
	for _, r := range b.Set {
		p.rows[string(r.Key)] = clone(r.Value)
	}
	if b.Ack > 0 {
		p.ack(b.Ack)
	}
	return nil
}

// Last returns the last commit.
func (s *Store) Last(ctx context.Context, partition int) (store.Last, error) {
	p, err := s.lock(ctx, partition)
	if err != nil {
		return store.Last{}, err
	}
	defer p.mu.Unlock()
	return p.commit, nil
}

// Get returns a copy of one row's value.
func (s *Store) Get(ctx context.Context, partition int, key []byte) ([]byte, error) {
	p, err := s.lock(ctx, partition)
	if err != nil {
		return nil, err
	}
	defer p.mu.Unlock()
	v, ok := p.rows[string(key)]
	if !ok {
		return nil, store.ErrNotFound
	}
	return clone(v), nil
}

// GetMany returns copies of the values of several rows.
func (s *Store) GetMany(ctx context.Context, partition int, keys [][]byte) ([][]byte, error) {
	p, err := s.lock(ctx, partition)
	if err != nil {
		return nil, err
	}
	defer p.mu.Unlock()
	values := make([][]byte, len(keys))
	for i, key := range keys {
		if v, ok := p.rows[string(key)]; ok {
			values[i] = append([]byte{}, v...)
		}
	}
	return values, nil
}

// Scan calls yield with the rows as they were when it was called. Only scans sort keys: commits
// come by the thousand, scans once per owner.
func (s *Store) Scan(ctx context.Context, partition int, prefix []byte, yield func(key, value []byte) error) error {
	p, err := s.lock(ctx, partition)
	if err != nil {
		return err
	}
	rows := p.sorted(string(prefix))
	p.mu.Unlock()
	for _, r := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := yield([]byte(r.key), clone(r.value)); err != nil {
			return err
		}
	}
	return nil
}

type row struct {
	key   string
	value []byte
}

func (p *partition) sorted(prefix string) []row {
	var rows []row
	for k, v := range p.rows {
		if strings.HasPrefix(k, prefix) {
			rows = append(rows, row{k, v})
		}
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].key < rows[j].key })
	return rows
}
