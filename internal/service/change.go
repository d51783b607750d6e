package service

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/records"
)

// RulesVersion is the version of what [Service.Change] can change of a bulk
// action: another whenever one of these rules is, and the same whatever else happens to it.
func RulesVersion(b *api.BulkAction) string {
	r := &b.Rules
	return versionOf(api.Rules{
		Tier: cmp.Or(r.Tier, weir.TierDefault.String()), Priority: r.Priority, Concurrency: r.Concurrency, Rates: r.Rates, StopOn: r.StopOn,
	}, true)
}

// rulesOf is a change in the engine's words. The members of stop_on that it leaves out stay as they are in now.
func rulesOf(c *api.Change, now weir.StopRule) (weir.Rules, error) {
	r := weir.Rules{Priority: c.Priority, Concurrency: c.Concurrency}
	if c.Tier != nil {
		tier, err := weir.ParseTier(*c.Tier)
		if err != nil {
			return r, &weir.FieldError{Code: "out_of_range", Field: "tier", Problem: err.Error()}
		}
		r.Tier = &tier
	}
	if c.StopOn != nil {
		to := changedRule(now, c.StopOn)
		r.StopOn = &to
	}
	for step, rate := range c.Rates {
		if r.Rates == nil {
			r.Rates = map[string]weir.Rate{}
		}
		r.Rates[step] = weir.Rate(rate)
	}
	return r, nil
}

// changedRule is a failure rule with the members that a change names.
func changedRule(r weir.StopRule, c *api.StopOnChange) weir.StopRule {
	if *c == (api.StopOnChange{}) {
		return weir.StopRule{}
	}
	set(&r.FailureRate, c.FailureRate)
	set(&r.MinItems, c.MinItems)
	set(&r.MaxFailures, c.MaxFailures)
	set(&r.Cancel, c.Cancel)
	set(&r.KeepTrying, c.KeepTrying)
	return r
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// Change changes the rules of a bulk action, if match agrees to the version that
// they are of; a nil match agrees to any. The owner makes the change only to the rules that were looked
// at here, so of any number of changes to the same rules, asked of whatever nodes, one is made. It waits a moment for
// the change to show: without match it is made in any case.
func (s *Service) Change(ctx context.Context, id string, c *api.Change, match Match) (api.BulkAction, error) {
	b, before, err := s.alive(ctx, id)
	if err == nil && match != nil {
		err = match(RulesVersion(&before))
	}
	if err != nil {
		return before, err
	}
	to, err := rulesOf(c, b.Info().StopOn)
	if err != nil {
		return before, err
	}
	was, _ := b.Changes()
	mark := ulid.Make().String()
	if match == nil {
		err = b.Change(ctx, to, c.Reason)
	} else {
		err = b.ChangeIf(ctx, to, c.Reason, mark)
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
			Code: "in_progress", Detail: fmt.Sprintf("the change of %s was sent, but its owner has not read it yet", id),
			Fix: "get the bulk action again: the change applies unless another change came first", RetryAfter: time.Second,
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
