package bulk

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/service/check"
	"github.com/weirhq/weir/internal/service/records"
)

// RulesVersion returns the version of the rules that [Service.Change] can change. It differs
// whenever one of these rules differs, and stays the same whatever else happens to the bulk
// action.
func RulesVersion(b *api.BulkAction) string {
	r := &b.Rules
	return records.VersionOf(api.Rules{
		Tier: cmp.Or(r.Tier, weir.TierDefault.String()), Priority: r.Priority, Concurrency: r.Concurrency, Rates: r.Rates,
		StopOn: r.StopOn,
	}, true)
}

// rulesOf translates a change for the engine. Members of stop_on that it omits stay as they are in
// now.
func rulesOf(c *api.Change, now weir.StopRule) (weir.Rules, error) {
	r := weir.Rules{Priority: c.Priority, Concurrency: c.Concurrency}
	if c.Tier != nil {
		tier, err := check.Tier(*c.Tier)
		if err != nil {
			return r, err
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

// changedRule returns a failure rule with the members that a change sets.
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

// Change changes the rules of a bulk action, if match accepts their version; a nil match accepts
// any. The owner applies the change only to the rules that were read here, so of any number of
// changes to the same rules, sent to any nodes, one is applied. It waits a moment for the change
// to show, and tells if it did not; without match the change is applied later in any case.
func (s *Bulks) Change(ctx context.Context, id string, c *api.Change, match records.Match) (api.BulkAction, error) {
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
	case by == "":
		fix := "get the bulk action again: the change applies as soon as its owner reads it"
		if match != nil {
			fix += ", unless another change came first"
		}
		return before, &check.Refusal{
			Code: "in_progress", Detail: fmt.Sprintf("the change of %s was sent, but its owner has not read it yet", id), Fix: fix,
			RetryAfter: time.Second,
		}
	case match == nil || by == mark:
		return s.Get(ctx, id)
	}
	return before, records.ErrChanged
}

// changed waits up to settleFor until the number of changes differs from was. It returns the mark
// of the last change; empty if no change showed.
func (s *Bulks) changed(ctx context.Context, id string, was uint64) (mark string, err error) {
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
		if Rest(wait, settleEvery) != nil {
			return "", ctx.Err()
		}
	}
}
