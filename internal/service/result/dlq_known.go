package result

import (
	"context"
	"slices"
	"time"
	"unique"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/engine"
	"github.com/weirhq/weir/internal/service/bulk"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/records"
	"github.com/weirhq/weir/internal/service/stored"
	"golang.org/x/sync/errgroup"
)

const (
	// mostKnown bounds how many bulk actions with failed items are remembered. Those beyond it are read each time.
	mostKnown = 200_000
	// readAtOnce is how many bulk actions are read side by side.
	readAtOnce = 8
)

// known remembers the failures of bulk actions and adds them up. The store says which of its parts have changed since:
// only these are read again, so that nothing shown is older than the store.
type known struct {
	turn   chan struct{} // whoever has taken its only value uses the rest
	parts  map[partOf]*knownPart
	lots   int         // in all parts
	newest []*failures // in order
	open   []*failures // that have not ended
	noted  noted
	sums   sums // of those that have ended
}

// partOf names a part of the bulk actions with failed items.
type partOf struct {
	partition int
	start     string
}

// knownPart is a part as it was read last.
type knownPart struct {
	mark string
	lots map[weir.BulkID]*failures
}

// failures are the failed items of a bulk action by group, also those that were retried or discarded. Readers share them.
type failures struct {
	id        weir.BulkID
	tenant    string
	submitted time.Time
	ended     bool
	groups    []api.ErrorGroup
	kinds     []unique.Handle[kind] // of groups
}

// kind is what failed items have in common that are in one group of the DLQ.
type kind struct{ tenant, step, action, code, message string }

// lock waits for the turn to use what is known.
func (k *known) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case <-k.turn:
		return func() { k.turn <- struct{}{} }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// refresh brings what is known up to date. The caller has the turn.
func (s *Results) refresh(ctx context.Context) error {
	k := &s.known
	parts, err := s.engine.FailingParts(ctx)
	if err != nil {
		return err
	}
	gone := make(map[partOf]bool, len(k.parts))
	for at := range k.parts {
		gone[at] = true
	}
	var c changes
	defer func() { k.settle(&c) }() // also after an error: what was read until then stays known
	for _, p := range parts {
		at := partOf{p.Partition, p.Mark.Start}
		delete(gone, at)
		if have := k.parts[at]; have != nil && have.mark == p.Mark.Last {
			continue
		}
		if err := s.readPart(ctx, p, at, &c); err != nil {
			return err
		}
	}
	for at := range gone {
		c.replace(k.parts[at].lots, nil)
		k.lots -= len(k.parts[at].lots)
		delete(k.parts, at)
	}
	noted, err := s.notedNow(ctx, &c)
	if err == nil {
		k.noted = noted
	}
	return err
}

// readPart reads a part again. What has ended and is known is not read.
func (s *Results) readPart(ctx context.Context, p engine.FailingPart, at partOf, c *changes) error {
	ids, err := s.engine.FailingIn(ctx, p)
	if err != nil {
		return err
	}
	k := &s.known
	was := k.parts[at]
	if was == nil {
		was = &knownPart{}
	}
	read := make([]*failures, len(ids))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readAtOnce)
	for i, id := range ids {
		if f := was.lots[id]; f != nil && f.ended {
			read[i] = f
			continue
		}
		g.Go(func() (err error) {
			read[i], err = s.failures(ctx, id)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	now := &knownPart{p.Mark.Last, make(map[weir.BulkID]*failures, len(ids))}
	for _, f := range read {
		if f != nil {
			now.lots[f.id] = f
		}
	}
	c.replace(was.lots, now.lots)
	k.lots += len(now.lots) - len(was.lots)
	k.parts[at] = now
	return nil
}

// failures returns the failures of a bulk action, nil if it was removed.
func (s *Results) failures(ctx context.Context, id weir.BulkID) (*failures, error) {
	b, err := s.engine.Get(ctx, id)
	if err != nil {
		return nil, check.IgnoreRemoved(err)
	}
	f, err := failuresOf(ctx, b)
	return f, check.IgnoreRemoved(err)
}

func failuresOf(ctx context.Context, b *engine.BulkAction) (*failures, error) {
	p := b.Found()
	info := b.Info()
	f := &failures{id: b.ID(), tenant: info.Tenant, submitted: info.Submitted, ended: p.State.Final()}
	if p.Counts.Failed == 0 {
		return f, nil
	}
	x, err := stored.ParseExtra(info.Extra)
	if err != nil {
		return nil, err
	}
	groups, err := b.FoundGroups(ctx)
	for i := range groups {
		g := bulk.ErrorGroup(string(b.ID()), &x, &groups[i])
		h := unique.Make(kind{f.tenant, g.Step, g.Action, g.Code, g.Message})
		k := h.Value() // whose texts all groups of the kind share
		f.tenant, g.Step, g.Action, g.Code, g.Message = k.tenant, k.step, k.action, k.code, k.message
		f.groups, f.kinds = append(f.groups, g), append(f.kinds, h)
	}
	return f, err
}

// left returns the groups less the items that were retried or discarded, and their kinds. Some may have no items left.
// The caller must not change them.
func (f *failures) left(all noted) ([]api.ErrorGroup, []unique.Handle[kind]) {
	e, ok := all[string(f.id)]
	switch {
	case !ok:
		return f.groups, f.kinds
	case e.Value.UndoneBy != "":
		return nil, nil
	}
	groups := slices.Clone(f.groups)
	less(groups, e.Value)
	return groups, f.kinds
}

// failing returns all bulk actions with failed items, the newest first, and what was retried or discarded of them.
func (s *Results) failing(ctx context.Context) ([]*failures, noted, error) {
	unlock, err := s.known.lock(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	err = s.refresh(ctx)
	lots, all := s.known.newest, s.known.noted
	s.known.trim()
	return lots, all, err
}

// noted is what was retried or discarded, by bulk action.
type noted map[string]records.Entry[handled]

// notedNow returns what was retried or discarded. It decodes what has changed since the last call, and tells what did.
func (s *Results) notedNow(ctx context.Context, c *changes) (noted, error) {
	before, now := s.known.noted, noted{}
	for e, err := range s.handled.Versions(ctx, "") {
		if err != nil {
			return nil, err
		}
		if was, ok := before[e.Name]; ok && was.Version == e.Version && !was.Value.pending() {
			now[e.Name] = was
			continue
		}
		if e.Value, err = s.finishBegun(ctx, e.Name); err != nil {
			return nil, err
		}
		now[e.Name] = e // if it changed since it was listed, the next call finds another version
		c.spoil(s.known.lot(e.Name))
	}
	for name := range before {
		if _, ok := now[name]; !ok {
			c.spoil(s.known.lot(name))
		}
	}
	return now, nil
}

// lot returns the failures of a bulk action as far as they are known, or nil.
func (k *known) lot(id string) *failures {
	for _, p := range k.parts {
		if f := p.lots[weir.BulkID(id)]; f != nil {
			return f
		}
	}
	return nil
}

// trim forgets parts until few enough bulk actions are known.
func (k *known) trim() {
	var c changes
	for at, p := range k.parts {
		if k.lots <= mostKnown {
			break
		}
		c.replace(p.lots, nil)
		k.lots -= len(p.lots)
		delete(k.parts, at)
	}
	k.settle(&c)
}

// pending reports whether a retry has not been carried out.
func (h *handled) pending() bool {
	return slices.ContainsFunc(h.Entries, func(h handling) bool { return h.Pending })
}
