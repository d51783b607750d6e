package service

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/records"
)

// RulesVersion is the version of what [Service.Change] can change of a bulk
// action: another whenever one of these rules is, and the same whatever else happens to it.
func RulesVersion(b *api.BulkAction) string {
	r := &b.Rules
	return versionOf(api.Rules{
		Tier: cmp.Or(r.Tier, weir.TierDefault.String()), Priority: r.Priority, Concurrency: r.Concurrency, Rates: r.Rates, StopOn: r.StopOn,
	}, true)
}

// Change changes the rules of a bulk action, if match agrees to the version that
// they are of; a nil match agrees to any. The owner makes the change only to the rules that were looked
// at here, so of any number of changes to the same rules, asked of whatever nodes, one is made. It waits a moment for
// the change to show: without match it is made in any case.
func (s *Service) Change(ctx context.Context, id string, to weir.Rules, reason string, match Match) (api.BulkAction, error) {
	b, before, err := s.alive(ctx, id)
	if err == nil && match != nil {
		err = match(RulesVersion(&before))
	}
	if err != nil {
		return before, err
	}
	was, _ := b.Changes()
	mark := ulid.Make().String()
	if match == nil {
		err = b.Change(ctx, to, reason)
	} else {
		err = b.ChangeIf(ctx, to, reason, mark)
	}
	by := ""
	if err == nil {
		by, err = s.changed(ctx, id, was)
	}
	switch {
	case err != nil:
		return before, err
	case match == nil || by == mark:
		return s.Get(ctx, id)
	case by == "":
		return before, &Refusal{
			Code: "in_progress", Detail: fmt.Sprintf("the change of %s was sent, and nobody has read it yet", id),
			Fix: "look at the bulk action again: it is changed unless somebody else was first", RetryAfter: time.Second,
		}
	}
	return before, records.ErrChanged
}

// changed waits a moment until rules are not those of so many changes any more, or
// the bulk action has ended, and returns the mark of the last change; none if there is none yet.
func (s *Service) changed(ctx context.Context, id string, was uint64) (mark string, err error) {
	wait, cancel := context.WithTimeout(ctx, settleFor)
	defer cancel()
	for {
		b, err := s.Bulk(ctx, id)
		if err != nil {
			return "", err
		}
		if n, mark := b.Changes(); n != was {
			return cmp.Or(mark, "another"), nil
		}
		if rest(wait, settleEvery) != nil {
			return "", ctx.Err()
		}
	}
}
