package model

import (
	"slices"
	"time"

	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/core/limit"
	"github.com/weirhq/weir/store"
)

const (
	// meetEvery is how often nodes tell each other what they have to run.
	meetEvery = int64(500 * time.Millisecond)
	// quotaFor is how long a quota lasts without being renewed.
	quotaFor = 1200 * time.Millisecond
	// slotsFor is the same for a concurrency.
	slotsFor = 10 * time.Second
	// message is how long a question or an answer is on its way.
	message = int64(2 * time.Millisecond)
)

// shareLimits puts the limits of all resources on quotas, if there are several nodes.
func (m *machine) shareLimits() {
	if len(m.nodes) < 2 {
		return
	}
	m.At(0, m.meet)
	for _, r := range m.resources {
		if r.Rate > 0 {
			items, window := limit.PerWindow(float64(r.Rate))
			m.shareLimit(r, store.Limit{Resource: r.Name, Units: items, Window: window},
				int64(limit.Grain(float64(r.Rate), m.widestBatch(r))), quotaFor)
		}
		if r.Concurrency > 0 {
			m.shareLimit(r, store.Limit{Resource: r.Name, Units: int64(r.Concurrency)}, 1, slotsFor)
		}
	}
}

// widestBatch returns the largest batch of the bulk actions that use a resource.
func (m *machine) widestBatch(r *resource) int {
	most := 1
	for _, b := range m.w.BulkActions {
		for _, s := range b.Steps {
			if s == r.Name {
				most = max(most, b.Batch)
			}
		}
	}
	return most
}

func (m *machine) shareLimit(r *resource, l store.Limit, chunk int64, ttl time.Duration) {
	s := NewShared(&m.Clock, epoch, l, chunk, ttl, func() int64 { return message })
	for _, n := range m.nodes {
		k := s.Join(n.name, n.res[r.no], nil)
		n.keeps = append(n.keeps, k)
		m.At(0, k.Look)
	}
	m.At(0, func() { s.Elect(func() int64 { return 0 }) })
}

// meet has the nodes tell each other what they have to run.
func (m *machine) meet() {
	wants := make([]capacity.Wants, len(m.nodes))
	for i, n := range m.nodes {
		wants[i] = n.can.Wants(m.clock())
	}
	m.After(message, func() {
		for i, n := range m.nodes {
			n.can.SetBeside(capacity.Gather(slices.Concat(wants[:i], wants[i+1:])))
		}
	})
	m.After(meetEvery, m.meet)
}

// stir lets the keepers of a resource look that has changed.
func (n *node) stir(r *capacity.Resource) {
	for _, k := range n.keeps {
		if k.of == r {
			n.m.At(n.m.Now(), k.Look)
		}
	}
}
