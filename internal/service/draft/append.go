package draft

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"iter"
	"log/slog"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/chain"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/store"
)

// Appends adds items to drafts.
type Appends struct {
	*kept
	store  store.Store
	chains *chain.Chains
	most   int64 // items of a bulk action
	log    *slog.Logger
}

// Rows holds incoming items. Items yields each item, or what is wrong with it; Bad returns how
// many were unusable, once Items has ended without an error.
type Rows struct {
	Items iter.Seq2[weir.RawItem, error]
	Bad   func() int64
	// Digest covers the whole body, to compare two appends with the same key; nil: no digest.
	Digest hash.Hash
}

// Append adds items to a draft: all of them, durably, or none. A second append with the same key
// and content changes nothing: again is true, and the result describes the first.
func (s *Appends) Append(ctx context.Context, id, key string, rows Rows) (out api.Appended, again bool, err error) {
	d, err := s.Get(ctx, id)
	if err != nil {
		return out, false, s.notDraft(ctx, id, err)
	}
	if err := s.mayAppend(ctx, id, &d); err != nil {
		return out, false, err
	}
	stage, err := s.intake.Stage(ctx, weir.BulkID(id), duplicateRule(d.Spec.Duplicates), s.atMost(rows.Items))
	if err != nil {
		return out, false, err
	}
	// the body is complete: the write does not depend on the client
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), writeFor)
	defer end()
	p := part{Stage: stage, BadLines: rows.Bad(), Key: key}
	if key != "" && rows.Digest != nil {
		p.Digest = hex.EncodeToString(rows.Digest.Sum(nil))
	}
	var before *part
	err = s.write(ctx, id, p, func(l *draftLog) error {
		before = nil
		if first, ok := l.byKey[key]; ok && key != "" {
			before = &first
			return errBefore
		}
		return s.roomFor(l, stage.Items)
	})
	if err != nil && !maybe(err) {
		_ = s.intake.DropStage(ctx, stage) // otherwise the next start removes it
	}
	switch {
	case before != nil:
		out, err = s.appendedAgain(ctx, id, before, p.Digest)
		return out, err == nil, err
	case err != nil:
		return out, false, err
	}
	s.touch(ctx, id, &d)
	out, err = s.appended(ctx, id, &p)
	return out, false, err
}

var errBefore = &check.Refusal{Code: "idempotency_conflict"}

// appended returns the response to an append.
func (s *Appends) appended(ctx context.Context, id string, p *part) (api.Appended, error) {
	sum, err := s.Sum(ctx, id)
	return api.Appended{
		Accepted: p.Stage.Items, Duplicates: p.Stage.Duplicates, BadLines: p.BadLines, Total: sum.Items, Durability: s.store.Durability(),
	}, err
}

// appendedAgain answers an append whose key was used before: the digests of the contents must
// match.
func (s *Appends) appendedAgain(ctx context.Context, id string, before *part, digest string) (api.Appended, error) {
	if before.Digest != digest {
		return api.Appended{}, &check.Refusal{Code: "idempotency_conflict",
			Detail: fmt.Sprintf("Idempotency-Key %q was already used with different items", before.Key),
			Fix:    "use a new key for different items"}
	}
	return s.appended(ctx, id, before)
}

// KnowsAppend reports whether an append with that key was accepted. If so,
// [Service.AppendedBefore] answers, even if the draft is gone.
func (s *Appends) KnowsAppend(ctx context.Context, id, key string) (bool, error) {
	if key == "" {
		return false, nil
	}
	_, known, err := s.partOf(ctx, id, key)
	return known, err
}

// AppendedBefore answers the repeat of an accepted append. The digest covers its whole content.
func (s *Appends) AppendedBefore(ctx context.Context, id, key string, digest []byte) (api.Appended, error) {
	before, known, err := s.partOf(ctx, id, key)
	if err == nil && !known { // its retention ended just now
		err = sealedAlready(id)
	}
	if err != nil {
		return api.Appended{}, err
	}
	return s.appendedAgain(ctx, id, &before, hex.EncodeToString(digest))
}

// partOf finds the append with a key in a draft's log. The log is kept for a time after the seal.
func (s *kept) partOf(ctx context.Context, id, key string) (p part, known bool, err error) {
	l := s.logs.of(id)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := s.catchUp(ctx, id, l); err != nil {
		return p, false, err
	}
	p, known = l.byKey[key]
	return p, known, nil
}

// mayAppend refuses an append before its body is read, if it would be refused after it.
func (s *Appends) mayAppend(ctx context.Context, id string, d *Draft) error {
	switch {
	case d.Spec.Source != nil:
		return &check.Refusal{Code: "sealed", Detail: id + " reads its items from its source",
			Fix: "create a bulk action without a source to add items"}
	case d.State == Sealing: // the seal may still be refused
		return &check.Refusal{Code: "sealed", Detail: id + " is being sealed: no items can be added",
			Fix: "if the seal is refused, send the items again; otherwise create another bulk action"}
	case d.State != Editing:
		return &check.Refusal{Code: "sealed", Detail: fmt.Sprintf("%s is %s: no items can be added", id, d.State),
			Fix: "create another bulk action"}
	}
	sum, err := s.Sum(ctx, id)
	if err != nil {
		return err
	}
	if sum.sealed != nil {
		return sealedAlready(id)
	}
	return nil
}

func sealedAlready(id string) error {
	return &check.Refusal{Code: "sealed", Detail: id + " is sealed: no items can be added", Fix: "create another bulk action"}
}

// roomFor refuses an entry for which the log has no room.
func (s *Appends) roomFor(l *draftLog, items int64) error {
	switch {
	case l.sealed != nil:
		return &check.Refusal{Code: "sealed", Detail: "it was sealed during the request: no items can be added",
			Fix: "create another bulk action"}
	case l.next >= maxParts:
		return &check.Refusal{Code: "too_many_appends", Detail: fmt.Sprintf("it already has %d appends, the maximum", l.next),
			Fix: "send more items in each append"}
	case l.Tally.Items+items > s.most:
		return s.tooMany(l.Tally.Items + items)
	}
	return nil
}

func (s *Appends) tooMany(items int64) error {
	return &weir.FieldError{
		Code: "too_many_items", Field: "items", Problem: fmt.Sprintf("%d items are more than the maximum of %d", items,
			s.most), Fix: "split them over several bulk actions",
	}
}

// atMost ends a stream of items as soon as it is too long, so the client need not send all of it.
// Items added before count.
func (s *Appends) atMost(items iter.Seq2[weir.RawItem, error]) iter.Seq2[weir.RawItem, error] {
	return func(yield func(weir.RawItem, error) bool) {
		n := int64(0)
		for it, err := range items {
			if n++; n > s.most && err == nil {
				it, err = weir.RawItem{}, s.tooMany(n)
			}
			if !yield(it, err) || err != nil {
				return
			}
		}
	}
}

// notDraft explains why no draft has that id: it was sealed, or it never existed.
func (s *kept) notDraft(ctx context.Context, id string, err error) error {
	if _, other := s.engine.Get(ctx, weir.BulkID(id)); other == nil {
		return sealedAlready(id)
	}
	return err
}

// writeFor bounds how long writing an entry takes.
const writeFor = time.Minute

// maybe reports whether a failed write may have taken effect.
func maybe(err error) bool {
	return errors.Is(err, store.ErrUnknown) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// touch records now and then that a draft is in use.
func (s *Appends) touch(ctx context.Context, id string, d *Draft) {
	if time.Since(d.Touched) < time.Hour {
		return
	}
	_, err := s.drafts.Update(ctx, id, func(d *Draft) error { d.Touched = time.Now().UTC(); return nil })
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "cannot record the use of a draft", slog.String("bulk_action", id), slog.Any("error", err))
	}
}

func duplicateRule(word string) weir.DuplicateRule {
	switch word {
	case "keep_first":
		return weir.KeepFirst
	case "keep_all":
		return weir.KeepAll
	}
	return weir.RefuseDuplicates
}
