package model

import (
	"slices"

	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/core/sched"
)

// tenant is one customer.
type tenant struct {
	name   string
	no     int // in order of first appearance
	weight float64
	most   int     // tasks in flight on a node; 0: no bound
	parts  []*part // that it has ever been in
	done   int64
	shares map[shareKey]*share
}

type shareKey struct{ resource, rank int }

// share is what a tenant got of a resource in one tier, beside what it should have got.
type share struct {
	tenant  *tenant
	res     *resource
	rank    int
	wanting int   // steps with something to run
	since   int64 // when it began to want
	listed  bool
	served  int64 // items in this second
	got     float64
	due     float64
}

func (m *machine) tenant(name string) *tenant {
	if t := m.tenants[name]; t != nil {
		return t
	}
	t := &tenant{name: name, no: len(m.order), weight: 1, shares: map[shareKey]*share{}}
	for _, w := range m.w.Tenants {
		if w.Name == name {
			t.weight, t.most = w.Weight, w.MaxTasks
		}
	}
	m.tenants[name], m.order = t, append(m.order, t)
	return t
}

// comeTo notes that the tenant has work in a partition.
func (t *tenant) comeTo(p *part) {
	if !slices.Contains(t.parts, p) {
		t.parts = append(t.parts, p)
		t.weigh(p)
	}
}

func (t *tenant) weigh(p *part) {
	p.queue.SetTenant(p.m.clock(), t.name, capacity.TenantLimits{Weight: t.weight, MaxTasks: t.most})
}

func (t *tenant) share(r *resource, rank int) *share {
	key := shareKey{r.no, rank}
	if t.shares[key] == nil {
		t.shares[key] = &share{tenant: t, res: r, rank: rank}
	}
	return t.shares[key]
}

// want notes that one more step of the tenant has something to run, or one less.
func (s *share) want(m *machine, wants bool) {
	if !wants {
		s.wanting--
		return
	}
	if s.wanting++; s.wanting == 1 {
		s.since = m.Now()
	}
	if !s.listed {
		s.listed = true
		s.res.shares = append(s.res.shares, s)
	}
}

// settle adds a second to the books of fairness: among those that wanted something
// all the time, each was due its weight's part of what they got together.
func (r *resource) settle(from int64) {
	var got, weight [sched.Tiers]float64
	whole := func(s *share) bool { return s.wanting > 0 && s.since <= from }
	for _, s := range r.shares {
		if whole(s) {
			got[s.rank] += float64(s.served)
			weight[s.rank] += s.tenant.weight
		}
	}
	kept := r.shares[:0]
	for _, s := range r.shares {
		if whole(s) {
			s.got += float64(s.served)
			s.due += got[s.rank] * s.tenant.weight / weight[s.rank]
		}
		s.served = 0
		if s.listed = s.wanting > 0; s.listed {
			kept = append(kept, s)
		}
	}
	clear(r.shares[len(kept):])
	r.shares = kept
}
