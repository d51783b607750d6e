package memstore

import (
	"maps"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/store/internal/inprocess"
)

// Moment is a snapshot of a store; see [Store.Save].
type Moment struct {
	partitions map[int]*partition
	announced  inprocess.Announcements
	lasting    map[string][]byte
}

// Save takes a snapshot of the store, for [Store.Restore].
func (s *Store) Save() *Moment {
	s.mu.RLock()
	defer s.mu.RUnlock()
	m := &Moment{partitions: map[int]*partition{}, announced: inprocess.Save(s.nodes)}
	for no, p := range s.partitions {
		p.mu.Lock()
		m.partitions[no] = p.copy()
		p.mu.Unlock()
	}
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	m.lasting = maps.Clone(s.registry.lasting)
	return m
}

// Restore sets the store back to an earlier moment while it is in use, like a failover to a
// replica that lags behind; nil is the empty store. Time does not go back: tokens and sequence
// numbers are new ones.
func (s *Store) Restore(m *Moment) {
	if m == nil {
		m = &Moment{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lives.Add(1)
	for no, p := range s.partitions {
		was := m.partitions[no]
		if was == nil {
			was = newPartition()
		}
		p.mu.Lock()
		p.restore(was.copy())
		p.mu.Unlock()
	}
	inprocess.Restore(s.nodes, m.announced)
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	s.registry.keep(m.lasting)
}

// Lives returns how often the store was set back.
func (s *Store) Lives() uint64 { return s.lives.Load() }

// copy shares the byte slices, which never change.
func (p *partition) copy() *partition {
	c := &partition{
		blocks: map[weir.BulkID]map[uint32][]byte{}, inbox: slices.Clone(p.inbox), last: p.last,
		claims: maps.Clone(p.claims), generation: p.generation, rows: maps.Clone(p.rows), commit: p.commit, lease: p.lease,
	}
	for id, of := range p.blocks {
		c.blocks[id] = maps.Clone(of)
	}
	c.added = slices.AppendSeq(c.added, maps.Keys(c.rows))
	return c
}

// restore replaces the contents with was, and wakes waiting calls.
func (p *partition) restore(was *partition) {
	p.blocks, p.inbox, p.claims, p.rows = was.blocks, was.inbox, was.claims, was.rows
	p.keys, p.added = was.keys, was.added
	p.generation, p.commit, p.lease = was.generation, was.commit, was.lease
	p.last = max(p.last, was.last)
	if p.wake != nil {
		close(p.wake)
		p.wake = nil
	}
}
