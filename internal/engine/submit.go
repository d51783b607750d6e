package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"iter"
	"log/slog"
	"math"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/partition"
	"github.com/weirhq/weir/store"
)

// Submit accepts a bulk action. When it returns without an error, spec and items
// are durable and will be run; until then nothing has been accepted. Items are
// read one by one and never held all in memory; an error among them refuses all.
// After Run has returned it fails with [weir.ErrClosed].
func Submit[In any](ctx context.Context, e *Engine, w weir.Work[In], items iter.Seq2[weir.Item[In], error], s weir.Spec) (*BulkAction, error) {
	if items == nil {
		return nil, fmt.Errorf("submit: %w", errNoIterator())
	}
	return e.submitAs(ctx, Ticket{}, w.Definition(), func(yield func(entry, error) bool) {
		for it, err := range items {
			data, bad := encodeItem(it.Value)
			if !yield(entry{id: it.ID, data: data}, cmp.Or(err, bad)) {
				return
			}
		}
	}, s)
}

// errNoIterator refuses items that are nil, which no range statement takes.
func errNoIterator() error {
	return &weir.FieldError{Code: "missing_field", Field: "items", Problem: "is nil", Fix: "pass an iterator, as engine.Items makes one of a slice"}
}

// Items turns a slice into what [Submit] takes.
func Items[T any](items []weir.Item[T]) iter.Seq2[weir.Item[T], error] {
	return func(yield func(weir.Item[T], error) bool) {
		for _, it := range items {
			if !yield(it, nil) {
				return
			}
		}
	}
}

// encodeItem returns an item's JSON; a document that is JSON already stays as it is.
func encodeItem[T any](v T) ([]byte, error) {
	if raw, ok := any(v).(json.RawMessage); ok {
		return raw, nil
	}
	return json.Marshal(v)
}

// checkSpec turns a spec into its stored form, or lists all that is wrong with it.
func (e *Engine) checkSpec(d weir.Definition, s weir.Spec) (*partition.Created, error) {
	now := time.Now()
	c := &partition.Created{
		Name: s.Name, Tenant: s.Tenant, Tier: s.Tier, Priority: s.Priority, Chain: d.Name,
		StopOn: s.StopOn, Concurrency: s.Concurrency, RetryOf: s.RetryOf, Submitted: now.UnixNano(),
		Text: d.Text, Hold: s.Hold,
	}
	if c.Name == "" {
		c.Name = c.Chain
	}
	if c.Tenant == "" {
		c.Tenant = "default"
	}
	var bad weir.InputError
	steps, err := e.chainOf(c)
	if faults := (*weir.InputError)(nil); errors.As(err, &faults) {
		bad.Fields = append(bad.Fields, faults.Fields...)
	} else if err != nil {
		return nil, err
	}
	for _, st := range steps {
		c.Steps = append(c.Steps, st.Name)
	}
	checkDeadline(c, s.Deadline, now, &bad)
	checkStart(c, s.StartAt, s.Hold, now, &bad)
	checkCanary(s.Canary, &bad)
	checkRates(c, s.Rates, &bad)
	checkLimits(c, s.IdempotencyKey, &bad)
	checkStopOn(&c.StopOn, &bad)
	return c, bad.OrNil()
}

func checkLimits(c *partition.Created, key string, bad *weir.InputError) {
	for _, f := range []struct{ field, value string }{{"name", c.Name}, {"tenant", c.Tenant}, {"idempotency_key", key}} {
		if problem := badText(f.value, 128); problem != "" {
			bad.Add("bad_text", f.field, problem, "use at most 128 printable characters")
		}
	}
	if c.Tier > weir.TierLow {
		bad.Add("out_of_range", "tier", fmt.Sprintf("%d is not a tier", c.Tier), "use one of weir.TierCritical, TierHigh, TierDefault, TierLow")
	}
	if c.Priority < -100 || c.Priority > 100 {
		bad.Add("out_of_range", "priority", fmt.Sprintf("%d is not between -100 and 100", c.Priority), "leave it 0")
	}
	if c.Concurrency < 0 {
		bad.Add("out_of_range", "concurrency", fmt.Sprintf("%d is negative", c.Concurrency), "leave it 0 for unlimited")
	}
}

func checkStopOn(r *weir.StopRule, bad *weir.InputError) {
	if math.IsNaN(r.FailureRate) || r.FailureRate < 0 || r.FailureRate > 1 || r.MinItems < 0 || r.MaxFailures < -1 {
		bad.Add("out_of_range", "stop_on", fmt.Sprintf("%+v", *r), "want a failure rate between 0 and 1, min items of at least 0, max failures of at least -1")
	}
	if r.MinItems > 0 && r.FailureRate == 0 {
		bad.Add("bad_value", "stop_on.min_items", "min_items without failure_rate never stops anything", "add failure_rate")
	}
}

func badText(s string, most int) string {
	if len(s) > most {
		return fmt.Sprintf("has %d bytes, more than %d", len(s), most)
	}
	for _, r := range s {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return fmt.Sprintf("%q has a control character or is not UTF-8", s)
		}
	}
	return ""
}

// accept writes the items and then the message that makes them a bulk action.
func (e *Engine) accept(ctx context.Context, at place, c *partition.Created, t Ticket, key string, rule weir.DuplicateRule, items iter.Seq2[entry, error]) (*BulkAction, error) {
	if e.ended.Load() {
		return nil, fmt.Errorf("%w: Run has returned, so that nothing would run here; open another engine", weir.ErrClosed)
	}
	if err := cmp.Or(e.room(), e.quotas.room(c.Tenant, 1)); err != nil {
		return nil, err
	}
	p := at.partition
	if err := e.takesWork(ctx, p, claimOf(c, t.ID != "", key), key != ""); err != nil {
		return nil, err
	}
	e.submits.begin(c.ID, p)
	w := e.newIngest(ctx, p, c, rule)
	w.drafted, w.sole = t.ID != "", t.Sole && !e.shared()
	if c.Canary != nil {
		w.cutAfter = c.Canary.Items
	}
	if key != "" {
		w.digest = sha256.New()
	}
	err := w.all(items)
	if err == nil && w.count == 0 && !t.AllowEmpty {
		err = &weir.FieldError{Code: "no_items", Field: "items", Problem: "there are none", Fix: "submit at least one item"}
	}
	if err != nil {
		w.unkept()
		return e.refuse(ctx, p, c, w, err)
	}
	if e.shared() && !w.drafted && time.Since(submitBegan(c.ID)) > submitFor-submitFor/24 {
		w.unkept()
		return e.refuse(ctx, p, c, w, fmt.Errorf("it took more than %v: submit it in parts", submitFor-submitFor/24))
	}
	if err := e.quotas.take(c.ID, c.Tenant, w.count); err != nil {
		w.unkept()
		return e.refuse(ctx, p, c, w, err)
	}
	c.Items, c.Duplicates = w.count, w.duplicates+t.Duplicates
	if w.uneven {
		c.Sizes = w.sizes
	}
	if c.Canary != nil && c.Canary.Items >= c.Items {
		c.Canary = nil
	}
	if c.Canary == nil { // one with a canary is not shared: its home decides on the rest
		c.Shards = e.shardsFor(c, p)
	}
	err = e.announce(ctx, at, c, key, w)
	if errors.Is(err, store.ErrUnknown) { // its blocks stay: the next start knows whether they are needed
		e.forget(c.ID, w)
		return nil, fmt.Errorf("it may have been accepted; submit again with the same idempotency key to find out: %w", err)
	}
	if err != nil {
		return e.refuse(ctx, p, c, w, err)
	}
	e.submits.accept(c.ID, w.reserved)
	e.counts.accepted(c, w.drafted)
	if e.fleet.elsewhere(p, e.node) { // its owner counts the items from here on
		e.forget(c.ID, w)
	}
	return &BulkAction{engine: e, id: c.ID, partition: p, spec: c}, nil
}

// refuse takes back what a submit has written, and answers with the bulk action
// that has the idempotency key if there is one.
func (e *Engine) refuse(ctx context.Context, p int, c *partition.Created, w *ingest, err error) (*BulkAction, error) {
	e.forget(c.ID, w)
	e.quotas.drop(c.ID)
	taken := (*store.ClaimedError)(nil)
	claimed := errors.As(err, &taken)
	switch {
	case w.drafted && claimed:
		return e.Get(ctx, c.ID)
	case w.drafted && !w.sole: // its blocks may be those of the same submit by another
		return nil, err
	}
	e.discard(ctx, p, c.ID)
	if claimed {
		return e.first(ctx, taken.Value, c, w.digest)
	}
	return nil, err
}

// forget ends a submit that was not accepted for all that is known: its items
// are not pending. If it was accepted after all, its owner counts them again.
func (e *Engine) forget(id weir.BulkID, w *ingest) {
	if e.submits.end(id) { // else its owner has read it
		e.pending.Add(-w.reserved)
	}
}

// announce makes the bulk action known to its partition: from here on it is accepted.
func (e *Engine) announce(ctx context.Context, at place, c *partition.Created, key string, w *ingest) error {
	body, err := partition.EncodeCreated(*c)
	if err != nil {
		return err
	}
	p, claim := at.partition, store.Claim{Generation: at.generation}
	switch {
	case w.drafted: // of several nodes that submit the same draft one is heard; where it lies does not depend on the map
		claim = store.Claim{Key: claimOf(c, true, key), Value: []byte(c.ID), Generation: math.MaxUint64}
	case key != "":
		claim.Key = claimOf(c, false, key)
		claim.Value = append([]byte(c.ID), fingerprint(c, w.digest)...)
	}
	err = e.store.Append(ctx, p, body, claim)
	if errors.Is(err, store.ErrMoved) {
		err = e.claimMoved(ctx, p, c.Tenant, key, body, claim)
	}
	if err != nil {
		w.unkept()
		return err
	}
	if w.kept != nil {
		e.watchOver(ctx, &sent{partition: p, at: time.Now(), created: c, claim: claim, kept: w.kept, life: w.kept.life})
	}
	return nil
}

// claimOf names what a submit claims; empty: nothing.
func claimOf(c *partition.Created, drafted bool, key string) string {
	switch {
	case drafted:
		return claimKey("", string(c.ID))
	case key != "":
		return claimKey(c.Tenant, key)
	}
	return ""
}

func claimKey(tenant, key string) string { return tenant + "\x00" + key }

// claimMoved claims an idempotency key by the newest map, after the one by which
// the submit was placed has been replaced, and then announces the bulk action
// where its items are.
func (e *Engine) claimMoved(ctx context.Context, p int, tenant, key string, body []byte, claim store.Claim) error {
	mark, err := partition.EncodeMark(rand.Text())
	if err != nil {
		return err
	}
	for {
		raw, m, err := e.readLayout(ctx)
		switch {
		case err != nil:
		case m == nil:
			err = e.restoreLayout(ctx)
		case m.Closing:
			err = e.closeClaims(ctx, raw, m)
		}
		if err != nil {
			return err
		}
		n, generation := e.layout.now().serving()
		claim.Generation = generation
		err = e.store.Append(ctx, e.layout.table(n).Keyed(tenant, key), mark, claim)
		switch {
		case err == nil:
			return e.store.Append(ctx, p, body, store.Claim{})
		case !errors.Is(err, store.ErrMoved):
			return err
		}
	}
}

// fingerprint tells whether two submits ask for the same.
func fingerprint(c *partition.Created, items hash.Hash) []byte {
	same := *c
	same.ID, same.Submitted, same.Shards = "", 0, nil
	raw, _ := json.Marshal(same) // plain data
	h := sha256.New()
	h.Write(raw)
	h.Write(items.Sum(nil))
	return h.Sum(nil)
}

// first answers a submit whose idempotency key was used before.
func (e *Engine) first(ctx context.Context, claim []byte, c *partition.Created, digest hash.Hash) (*BulkAction, error) {
	n := len(claim) - sha256.Size
	if n <= 0 {
		return nil, fmt.Errorf("idempotency key: %w", store.ErrCorrupt)
	}
	id := weir.BulkID(claim[:n])
	if string(claim[n:]) != string(fingerprint(c, digest)) {
		return nil, fmt.Errorf("%w: bulk action %s has it; use another key for other content", weir.ErrConflict, id)
	}
	p, err := e.partitionOf(id)
	if err != nil {
		return nil, err
	}
	if c, err = e.findSpec(ctx, p, id); errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("%w: a submit that has not ended has it; ask again later or use another key", weir.ErrConflict)
	}
	if err != nil {
		return nil, err
	}
	return &BulkAction{engine: e, id: id, partition: p, spec: c}, nil
}

// discard removes the blocks of a submit that was refused. If that fails, the next start does it.
func (e *Engine) discard(ctx context.Context, p int, id weir.BulkID) {
	if err := e.store.DeleteBlocks(context.WithoutCancel(ctx), p, id); err != nil {
		e.log.LogAttrs(ctx, slog.LevelWarn, "blocks of a refused submit stay until the next start",
			slog.String("bulk_action", string(id)), slog.Any("error", err))
	}
}

// room refuses a submit when no item more may be pending.
func (e *Engine) room() error {
	if pending := e.pending.Load(); pending >= e.opts.MaxPending {
		return e.full(pending, 1)
	}
	return nil
}

// Room says whether so many more items of a tenant would be accepted now. If not,
// the error is a *[weir.BacklogError]. Nothing is reserved: a submit may find it full a moment later.
func (e *Engine) Room(tenant string, items int64) error {
	if pending := e.pending.Load(); pending+items > e.opts.MaxPending {
		return e.full(pending, items)
	}
	return e.quotas.room(tenant, items)
}

func (e *Engine) full(pending, more int64) error {
	return &weir.BacklogError{Pending: pending, Limit: e.opts.MaxPending, RetryAfter: e.speed.timeFor(max(more, e.opts.MaxPending/100))}
}

// reserve makes the items of a block pending, or refuses them. Adding comes
// first: of several submits at once none takes the place that another has seen.
func (w *ingest) reserve(n int64) error {
	if w.aside {
		return nil
	}
	e := w.engine
	if pending := e.pending.Add(n); pending > e.opts.MaxPending {
		e.pending.Add(-n)
		return e.full(pending-n-w.reserved, w.reserved+n)
	}
	w.reserved += n
	return nil
}
