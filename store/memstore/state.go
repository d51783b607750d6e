package memstore

import (
	"context"
	"math"
	"slices"
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
		if _, there := p.rows[string(r.Key)]; !there {
			p.added = append(p.added, string(r.Key))
		}
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

// Scan calls yield with the rows as they were when it was called.
func (s *Store) Scan(ctx context.Context, partition int, prefix []byte, yield func(key, value []byte) error) error {
	p, err := s.lock(ctx, partition)
	if err != nil {
		return err
	}
	rows := p.page(store.Range{Prefix: prefix}, math.MaxInt)
	p.mu.Unlock()
	for _, r := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := yield(r.Key, clone(r.Value)); err != nil {
			return err
		}
	}
	return nil
}

// Page returns copies of the first rows of a range.
func (s *Store) Page(ctx context.Context, partition int, r store.Range, limit int) ([]store.Row, error) {
	p, err := s.lock(ctx, partition)
	if err != nil {
		return nil, err
	}
	defer p.mu.Unlock()
	rows := p.page(r, limit)
	for i := range rows {
		rows[i].Value = append([]byte{}, rows[i].Value...)
	}
	return rows, nil
}

// page returns rows with the stored values, which never change.
func (p *partition) page(r store.Range, limit int) (rows []store.Row) {
	p.sort()
	keys := p.keys[sort.SearchStrings(p.keys, string(r.Prefix)):]
	keys = keys[:sort.Search(len(keys), func(i int) bool { return !strings.HasPrefix(keys[i], string(r.Prefix)) })]
	if r.After != nil {
		keys = keys[sort.Search(len(keys), func(i int) bool { return keys[i] > string(r.After) }):]
	}
	if r.Before != nil {
		keys = keys[:sort.SearchStrings(keys, string(r.Before))]
	}
	for i := 0; i < len(keys) && len(rows) < limit; i++ {
		key := keys[i]
		if r.Back {
			key = keys[len(keys)-1-i]
		}
		if v, ok := p.rows[key]; ok { // else it was deleted since keys were sorted
			rows = append(rows, store.Row{Key: []byte(key), Value: v})
		}
	}
	return rows
}

// sort puts keys that were added in order. Only reads of several rows need the order: commits come by the thousand.
func (p *partition) sort() {
	if len(p.added) == 0 && len(p.keys) <= 2*len(p.rows)+16 {
		return
	}
	slices.Sort(p.added)
	all := make([]string, 0, len(p.rows))
	old, added := p.keys, p.added
	for len(old) > 0 || len(added) > 0 {
		var next string
		if len(added) == 0 || len(old) > 0 && old[0] <= added[0] {
			next, old = old[0], old[1:]
		} else {
			next, added = added[0], added[1:]
		}
		if _, ok := p.rows[next]; ok && (len(all) == 0 || all[len(all)-1] != next) {
			all = append(all, next)
		}
	}
	p.keys, p.added = all, nil
}
