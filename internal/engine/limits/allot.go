package limits

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/weirhq/weir/internal/core/quota"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/store"
)

const (
	allotEvery = 250 * time.Millisecond // while a limit is in use
	allotIdle  = time.Second            // while no work uses it
	allotRest  = 5 * time.Second        // while no node has anything to do
	allotAgain = time.Second            // after which targets are written again: the store may have lost them
)

// Allot is the leader's work on quotas: it tells the store what each node should
// get of each limit, until ctx ends or another leader has spoken.
func (c *Control) Allot(ctx context.Context, epoch uint64) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	c.eachLimit(ctx, c.allResources, func(one context.Context, l sharedLimit) {
		if err := c.allotOne(one, epoch, l); one.Err() == nil && err != nil {
			end() // there is another leader
		}
	})
}

func (c *Control) allotOne(ctx context.Context, epoch uint64, l sharedLimit) error {
	plan := quota.NewPlanner(l.Limit, l.chunk)
	var wrote time.Time
	for failing := false; ctx.Err() == nil; {
		inUse, err := c.allotOnce(ctx, epoch, l.Limit, plan, &wrote)
		switch {
		case errors.Is(err, store.ErrStale), errors.Is(err, store.ErrClosed):
			return err
		case err != nil && !failing && ctx.Err() == nil:
			c.Log.LogAttrs(ctx, slog.LevelWarn, "quotas not allotted, will try again",
				slog.String("resource", l.Resource), slog.Any("error", err))
		}
		failing = err != nil
		woken := c.Woken()
		switch {
		case inUse || failing:
			own.Pause(ctx, allotEvery, nil)
		case c.Resting():
			own.Pause(ctx, allotRest, woken)
		default:
			own.Pause(ctx, allotIdle, nil)
		}
	}
	return ctx.Err()
}

// allotOnce reads what the nodes say of a limit, and writes the targets if they have changed.
func (c *Control) allotOnce(ctx context.Context, epoch uint64, l store.Limit, plan *quota.Planner,
	wrote *time.Time) (inUse bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, allotAgain)
	defer cancel()
	said, err := c.Store.Holdings(ctx, l)
	if err != nil {
		return true, err
	}
	members, silent := c.Members()
	targets, changed := plan.Plan(time.Now().UnixNano(), members, said, silent)
	inUse = len(said) > 0
	if !changed && !(inUse && time.Since(*wrote) >= allotAgain) {
		return inUse, nil
	}
	if err := c.Store.SetTargets(ctx, l, epoch, targets); err != nil {
		return inUse, err
	}
	*wrote = time.Now()
	return inUse, nil
}
