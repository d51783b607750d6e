package partition

import (
	"encoding/binary"
	"encoding/json"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/block"
	"github.com/weirhq/weir/store"
)

// row judges one row that became durable.
func (s *site) row(r store.Row) {
	switch r.Key[0] {
	case kindBlock:
		s.blockRow(r)
	case kindSpec:
		s.specRow(r)
	case kindStatus:
		b := s.find(weir.BulkID(r.Key[1:]))
		if s.no != b.spec.Shards[0] {
			return
		}
		var status Status
		if err := json.Unmarshal(r.Value[:len(r.Value)-4], &status); err != nil {
			s.t.Fatal(err)
		}
		if status.State.Final() {
			b.ends++
		}
		if b.ends > 1 {
			s.t.Fatalf("%s ended twice", b.spec.ID)
		}
	}
}

// specRow: shards are added to a bulk action, and none is taken away.
func (s *site) specRow(r store.Row) {
	var c Created
	if err := json.Unmarshal(r.Value[:len(r.Value)-4], &c); err != nil {
		s.t.Fatal(err)
	}
	b := s.find(c.ID)
	if s.no != b.spec.Shards[0] || !c.Shared() {
		return
	}
	if n := len(b.spec.Shards); len(c.Shards) < n || !slices.Equal(c.Shards[:n], b.spec.Shards) || b.spec.Shared() && c.Range != b.spec.Range {
		s.t.Fatalf("the shards of %s became %v, in ranges of %d blocks, after %v and %d", c.ID, c.Shards, c.Range, b.spec.Shards, b.spec.Range)
	}
	if b.held() {
		s.t.Fatalf("%s is shared before it may run as a whole", c.ID)
	}
	b.spec = &c
}

// held reports whether a bulk action may run no more than its canary.
func (b *watched) held() bool { return b.spec.Canary != nil && !b.approved }

// blockRow: what happened to an item stays so, and a block has rows in one partition alone.
func (s *site) blockRow(r store.Row) {
	no := binary.BigEndian.Uint32(r.Key[len(r.Key)-4:])
	b := s.find(weir.BulkID(r.Key[1 : len(r.Key)-4]))
	state := &block.State{}
	if err := state.Decode(r.Value[:len(r.Value)-4], len(b.spec.Steps)); err != nil {
		s.t.Fatal(err)
	}
	if b.runBy[no] != s.no {
		s.t.Fatalf("block %d of %s has a row in partition %d, and ran in %d", no, b.spec.ID, s.no, b.runBy[no])
	}
	if old := b.states[no]; old != nil && !b.lossy {
		pairs := [][2]*block.Set{{&old.Failed, &state.Failed}, {&old.LeftOut, &state.LeftOut}}
		for i := range old.Passed {
			pairs = append(pairs, [2]*block.Set{&old.Passed[i], &state.Passed[i]})
		}
		for _, pair := range pairs {
			gone := *pair[0]
			gone.AndNot(pair[1])
			if !gone.Empty() {
				s.t.Fatalf("block %d of %s: items took back how they ended", no, b.spec.ID)
			}
		}
	}
	b.states[no] = state
}

// counted returns the number of items by outcome, from the rows.
func (b *watched) counted() (done, failed, leftOut int64) {
	for _, s := range b.states {
		done += int64(s.Passed[len(s.Passed)-1].Len())
		failed += int64(s.Failed.Len())
		leftOut += int64(s.LeftOut.Len())
	}
	return done, failed, leftOut
}

// view: the counts add up, never go back, and show nothing that is not durable.
func (s *site) view(v *weir.Progress) {
	s.t.Helper()
	b := s.find(v.ID)
	if s.no != b.spec.Shards[0] {
		s.t.Fatalf("partition %d shows %s, whose home is %d", s.no, v.ID, b.spec.Shards[0])
	}
	c, old := v.Counts, b.seen.Counts
	if c.Total != b.spec.Items || c.Ready+c.Waiting+c.InFlight+c.Ended() != c.Total || min(c.Ready, c.Waiting, c.InFlight) < 0 {
		s.t.Fatalf("%s: the counts %+v do not add up", v.ID, c)
	}
	if b.lossy {
		b.seen = *v
		return
	}
	if b.shown && (c.Done < old.Done || c.Failed < old.Failed || c.Cancelled < old.Cancelled) {
		s.t.Fatalf("%s: the counts went back from %+v to %+v", v.ID, old, c)
	}
	if done, failed, _ := b.counted(); c.Done > done || c.Failed > failed {
		s.t.Fatalf("%s shows %+v, and its rows have %d done and %d failed", v.ID, c, done, failed)
	}
	for i, st := range v.Steps {
		if st.Pending < 0 || b.shown && (st.Done < b.seen.Steps[i].Done || st.Attempts < b.seen.Steps[i].Attempts) {
			s.t.Fatalf("%s: step %d went from %+v to %+v", v.ID, i, b.seen.Steps[i], st)
		}
	}
	b.seen, b.shown = *v, true
}

// check reads everything back when all is over.
func (c *cluster) check() {
	c.t.Helper()
	for _, b := range c.bulks {
		_, status, err := ReadStatus(c.sites[b.spec.Shards[0]].rows, b.spec.ID)
		if err != nil {
			c.t.Fatal(err)
		}
		done, failed, leftOut := b.counted()
		if b.ends != 1 || !status.State.Final() || status.Done != done || status.Failed != failed || status.LeftOut != leftOut {
			c.t.Errorf("%s ended %d times as %+v; the rows have %d done, %d failed, %d left out", b.spec.ID, b.ends, status, done, failed, leftOut)
		}
		if status.State == weir.BulkCompleted && status.CancelCause == "" && done+failed+leftOut != b.spec.Items {
			c.t.Errorf("%s is completed with %d of %d items", b.spec.ID, done+failed+leftOut, b.spec.Items)
		}
		c.checkSteps(b, status)
		c.checkOwners(b)
		c.checkGroups(b, failed)
	}
	for _, s := range c.sites {
		for key := range s.rows {
			if key[0] == kindActive || key[0] == kindTenant {
				c.t.Errorf("partition %d: marker %q is left", s.no, key)
			}
		}
		if s.m.Pending() != 0 || len(s.m.shared) != 0 || len(s.m.tenants) != 0 {
			c.t.Errorf("partition %d: %d items pending, %d shared, tenants %v", s.no, s.m.Pending(), len(s.m.shared), s.m.tenants)
		}
	}
}

// checkSteps: what passed or is unclear at each step is what the rows say.
func (c *cluster) checkSteps(b *watched, status *Status) {
	unclear := int64(0)
	for i := range status.Steps {
		unclear -= status.Steps[i].Unclear
	}
	for _, s := range b.states {
		unclear += int64(s.Unclear.Len())
	}
	if unclear != 0 {
		c.t.Errorf("%s: its rows have %d more unclear items than its steps count", b.spec.ID, unclear)
	}
	for i := range b.spec.Steps {
		passed := int64(0)
		for _, s := range b.states {
			passed += int64(s.Passed[i].Len())
		}
		if status.Steps[i].Done != passed {
			c.t.Errorf("%s counts %d done at step %d, its rows %d", b.spec.ID, status.Steps[i].Done, i, passed)
		}
	}
}

// checkOwners: every block is where the home says.
func (c *cluster) checkOwners(b *watched) {
	owners, err := readOwners(c.sites[b.spec.Shards[0]].rows, b.spec)
	if err != nil {
		c.t.Fatal(err)
	}
	for no := range b.states {
		if !b.spec.Shared() {
			if b.runBy[no] != b.spec.Shards[0] {
				c.t.Errorf("%s block %d is not shared, and ran in %d", b.spec.ID, no, b.runBy[no])
			}
			continue
		}
		if to := b.spec.Shards[owners[no/b.spec.rangeSize()]]; to != b.runBy[no] {
			c.t.Errorf("%s block %d was given to partition %d, and ran in %d", b.spec.ID, no, to, b.runBy[no])
		}
	}
}

// checkGroups: the groups of failures of all shards together are all failures.
func (c *cluster) checkGroups(b *watched, failed int64) {
	sum := int64(0)
	for _, p := range b.spec.Shards {
		groups, err := ReadGroups(c.sites[p].rows, b.spec.ID)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, g := range groups {
			sum += g.Count
		}
	}
	if sum != failed {
		c.t.Errorf("%s: %d failures in all groups together, its rows have %d", b.spec.ID, sum, failed)
	}
}
