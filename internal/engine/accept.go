package engine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/internal/engine/ingest"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/internal/engine/retention"
	"github.com/weirhq/weir/internal/engine/stored"
	"github.com/weirhq/weir/store"
)

// submission is one submit on its way to being accepted.
type submission struct {
	engine  *Engine
	at      own.Place
	spec    *partition.Created
	ticket  Ticket
	key     string // idempotency key; empty: none
	rule    weir.DuplicateRule
	drafted bool // its id was known before; the blocks of a refused one stay with the draft
	items   *ingest.Stream
}

// incoming are the items of a submit: those of a stream, or those that were set aside for it.
type incoming struct {
	items  iter.Seq2[ingest.Entry, error] // nil: they were set aside
	stages []ingest.Stage
}

// accept writes the items and then the message that makes them a bulk action.
func (s *submission) accept(ctx context.Context, items incoming) (*BulkAction, error) {
	e, c := s.engine, s.spec
	s.drafted = s.ticket.ID != ""
	if e.state.Load() == ended {
		return nil, fmt.Errorf("%w: Run has returned, so that nothing would run here; open another engine", weir.ErrClosed)
	}
	if err := e.intake.Room(c.Tenant, 1); err != nil {
		return nil, err
	}
	if err := e.layout.TakesWork(ctx, s.at.Partition, s.claimKey(), s.key != ""); err != nil {
		return nil, err
	}
	e.intake.Begin(c.ID, s.at.Partition)
	if err := s.ingest(ctx, items); err != nil {
		s.items.Kept.Drop()
		return s.refuse(ctx, err)
	}
	s.complete()
	err := s.announce(ctx)
	if errors.Is(err, store.ErrUnknown) { // its blocks stay: the next start knows whether they are needed
		e.intake.Forget(c.ID, s.items.Reserved)
		return nil, fmt.Errorf("it may have been accepted; submit again with the same idempotency key to find out: %w", err)
	}
	if err != nil {
		return s.refuse(ctx, err)
	}
	c.Block = nil // it is in the store
	e.intake.Accepted(c.ID, s.items.Reserved)
	e.counts.Accepted(c, s.drafted)
	if e.fleet.Elsewhere(s.at.Partition) { // its owner counts the items from here on
		e.intake.Forget(c.ID, s.items.Reserved)
	}
	return &BulkAction{Bulk: e.reader.Accepted(s.at.Partition, c), engine: e}, nil
}

// ingest writes the items, and checks that they may be accepted.
func (s *submission) ingest(ctx context.Context, items incoming) error {
	e, c := s.engine, s.spec
	w := e.intake.Open(ctx, s.at.Partition, c, s.rule)
	s.items = w
	if c.Canary != nil {
		w.CutAfter = c.Canary.Items
	}
	if s.key != "" {
		w.Digest = sha256.New()
	}
	take := func() error { return w.All(items.items) }
	if items.items == nil {
		take = func() error { return w.Adopt(items.stages) }
	}
	if err := take(); err != nil {
		return err
	}
	if w.Count == 0 && !s.ticket.AllowEmpty {
		return &weir.FieldError{Code: "no_items", Field: "items", Problem: "is empty", Fix: "submit at least one item"}
	}
	if most := retention.SubmitFor - retention.SubmitFor/24; e.shared() && !s.drafted && time.Since(stored.Began(c.ID)) > most {
		return fmt.Errorf("it took more than %v: submit it in parts", most)
	}
	return e.intake.Take(c.ID, c.Tenant, w.Count)
}

// complete sets what is known of the bulk action when all items are written.
func (s *submission) complete() {
	c, w := s.spec, s.items
	c.Items, c.Duplicates = w.Count, w.Duplicates+s.ticket.Duplicates
	c.Inline, c.Block, c.Listed = w.Inline != nil, w.Inline, w.Listed
	if w.Uneven {
		c.Sizes = w.Sizes
	}
	if slices.ContainsFunc(w.Places, func(p partition.Place) bool { return p.Stage != "" }) {
		c.Places = w.Places
	}
	if c.Canary != nil && c.Canary.Items >= c.Items {
		c.Canary = nil
	}
	if c.Canary == nil { // one with a canary is shared by its home, when the rest may run
		c.Share(s.engine.member.Router().Shards(c, s.at.Partition))
	}
}

// refuse takes back what a submit has written, and answers with the bulk action
// that has the idempotency key if there is one.
func (s *submission) refuse(ctx context.Context, err error) (*BulkAction, error) {
	e, c := s.engine, s.spec
	e.intake.Forget(c.ID, s.items.Reserved)
	e.intake.Refused(c.ID)
	taken := (*store.ClaimedError)(nil)
	claimed := errors.As(err, &taken)
	sole := s.ticket.Sole && !e.shared()
	switch {
	case s.drafted && claimed:
		return e.Get(ctx, c.ID)
	case s.drafted && !sole: // its blocks may be those of the same submit by another
		return nil, err
	}
	e.intake.Discard(ctx, s.at.Partition, c.ID)
	if claimed {
		return s.first(ctx, taken.Value)
	}
	return nil, err
}

// announce makes the bulk action known to its partition: from here on it is accepted.
func (s *submission) announce(ctx context.Context) error {
	e, c := s.engine, s.spec
	body, err := partition.EncodeCreated(*c)
	if err != nil {
		return err
	}
	claim := store.Claim{Key: s.claimKey(), Generation: s.at.Generation}
	switch {
	case s.drafted: // of several nodes that submit the same draft one is heard; where it lies does not depend on the map
		claim.Value, claim.Generation = []byte(c.ID), math.MaxUint64
	case s.key != "":
		claim.Value = append([]byte(c.ID), s.fingerprint()...)
	}
	err = e.store.Append(ctx, s.at.Partition, body, claim)
	if errors.Is(err, store.ErrMoved) {
		err = s.claimMoved(ctx, body, claim)
	}
	if err != nil {
		s.items.Kept.Drop()
		return err
	}
	e.past.Submitted(ctx, s.at.Partition, c, claim, s.items.Kept)
	return nil
}

// claimKey names what the submit claims; empty: nothing.
func (s *submission) claimKey() string {
	switch {
	case s.drafted:
		return stored.ClaimKey("", string(s.spec.ID))
	case s.key != "":
		return stored.ClaimKey(s.spec.Tenant, s.key)
	}
	return ""
}

// claimMoved claims an idempotency key by the newest map, after the one by which
// the submit was placed has been replaced, and then announces the bulk action
// where its items are.
func (s *submission) claimMoved(ctx context.Context, body []byte, claim store.Claim) error {
	e := s.engine
	mark, err := partition.EncodeMark(rand.Text())
	if err != nil {
		return err
	}
	for {
		m, err := e.layout.Settled(ctx)
		if err != nil {
			return err
		}
		n, generation := m.Serving()
		claim.Generation = generation
		err = e.store.Append(ctx, e.layout.Table(n).Keyed(s.spec.Tenant, s.key), mark, claim)
		switch {
		case err == nil:
			return e.store.Append(ctx, s.at.Partition, body, store.Claim{})
		case !errors.Is(err, store.ErrMoved):
			return err
		}
	}
}

// fingerprint tells whether two submits ask for the same.
func (s *submission) fingerprint() []byte {
	same := *s.spec
	same.ID, same.Submitted, same.Shards, same.Range = "", 0, nil, 0
	same.Inline, same.Listed, same.Sizes, same.Places, same.Trace = false, nil, nil, nil, ""
	raw, _ := json.Marshal(same) // plain data
	h := sha256.New()
	h.Write(raw)
	h.Write(s.items.Digest.Sum(nil))
	return h.Sum(nil)
}

// first answers a submit whose idempotency key was used before.
func (s *submission) first(ctx context.Context, claim []byte) (*BulkAction, error) {
	e := s.engine
	n := len(claim) - sha256.Size
	if n <= 0 {
		return nil, fmt.Errorf("idempotency key: %w", store.ErrCorrupt)
	}
	id := weir.BulkID(claim[:n])
	if string(claim[n:]) != string(s.fingerprint()) {
		return nil, fmt.Errorf("%w: bulk action %s has it; use another key for other content", weir.ErrConflict, id)
	}
	p, err := stored.Home(id, e.layout.Now().Most)
	if err != nil {
		return nil, err
	}
	c, err := stored.FindSpec(ctx, e.store, p, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("%w: a submit that has not ended has it; ask again later or use another key", weir.ErrConflict)
	}
	if err != nil {
		return nil, err
	}
	return &BulkAction{Bulk: e.reader.Accepted(p, c), engine: e}, nil
}
