package limits

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/core/capacity"
	"github.com/weirhq/weir/internal/engine/own"
	"github.com/weirhq/weir/store"
)

// A changed limit must hold on all nodes by the time that the change is
// answered, whichever node is dead, frozen or cut off, and whether or not there
// is a leader. Two rules see to that:
//
//   - A node that shares its store announces itself, and reads the limits after
//     that, four times a second, and once a second while no node has anything to
//     do. What it has read is good for Within from the
//     announcement on; after that it starts nothing before it has read them again.
//   - A change of limits is answered when every announced node has said that it
//     keeps to this version or a newer one, or Within after it was written.
//
// A node that joins meanwhile is either on the list, or it reads the limits
// after they were written.

// Within is how long a change of limits takes to be in force at most, and
// how soon all nodes keep to circuits set by hand: a node that was silent for so long starts nothing.
const Within = own.SilentAfter

const (
	confirmEvery = 20 * time.Millisecond
	retryEvery   = 200 * time.Millisecond // a store that does not answer
)

// await waits until a version of the limits, which was written before a
// time, is in force on all nodes. Where no node runs it returns at once.
func await(ctx context.Context, s store.Registry, version uint64, written time.Time) error {
	for ctx.Err() == nil && time.Since(written) < Within {
		if obeyed(ctx, s, version) {
			return nil
		}
		own.Pause(ctx, confirmEvery, nil)
	}
	return ctx.Err()
}

// obeyed reports whether all announced nodes have said that they keep to a
// version of the limits. If the store does not answer, that is not known.
func obeyed(ctx context.Context, s store.Registry, version uint64) bool {
	ctx, cancel := context.WithTimeout(ctx, Within/4)
	defer cancel()
	nodes, err := own.Announced(ctx, s)
	if err != nil {
		return false
	}
	for _, n := range nodes {
		if n.Limits < version {
			return false
		}
	}
	return true
}

// First reads what operators have set before anything starts, however long
// the store takes to answer. It reports false if ctx ends before.
func (c *Control) First(ctx context.Context) bool {
	for failing := false; ctx.Err() == nil; failing = true {
		err := c.Obey(ctx)
		if err == nil {
			c.know()
			return true
		}
		if !failing && ctx.Err() == nil {
			c.Log.LogAttrs(ctx, slog.LevelWarn, "limits not read, nothing starts before", slog.Any("error", err))
		}
		own.Pause(ctx, retryEvery, nil)
	}
	return false
}

// ObeyRead has kept what was read of limits, and of circuits and rules, that operators have set. This node announced
// itself after announced, and the record of limits was read after that: it counts from then on.
func (c *Control) ObeyRead(ctx context.Context, announced time.Time, raw []byte, settings *weir.Scaling) error {
	if err := c.keep(ctx, func(context.Context) ([]byte, error) { return raw, nil }); err != nil {
		return err
	}
	c.obeySettings(settings)
	lapsed := !c.Current(time.Now())
	life := min(Within, c.LeaseFor)
	end := announced.Add(life - life/100) // clocks may run at different speeds
	c.until.Store(&end)
	if lapsed {
		c.Wake(false)
	}
	return nil
}

// Current reports whether the limits that this node knows certainly hold.
func (c *Control) Current(now time.Time) bool {
	if !c.Shared {
		return true
	}
	end := c.until.Load()
	return end != nil && own.CertainlyBefore(now, *end)
}

// Obey reads the limits that operators have set, and has them kept if they have changed.
func (c *Control) Obey(ctx context.Context) error {
	return c.keep(ctx, func(ctx context.Context) ([]byte, error) { return lookup(ctx, c.Store) })
}

// keep has limits kept as soon as they are read, one reading at a time.
func (c *Control) keep(ctx context.Context, read func(context.Context) ([]byte, error)) error {
	ctx, cancel := context.WithTimeout(ctx, c.LeaseFor/3)
	defer cancel()
	c.reading.Lock()
	defer c.reading.Unlock()
	raw, err := read(ctx)
	if err != nil {
		return err
	}
	set, err := parse(raw)
	if err != nil {
		return err
	}
	if set.Version < c.Version() {
		return c.restore(ctx, raw)
	}
	c.mu.Lock()
	same := bytes.Equal(raw, c.raw)
	c.raw, c.set = raw, set
	if !same {
		c.bounded = boundedBy(&set.Limits)
	}
	c.mu.Unlock()
	if !same {
		c.apply()
	}
	return nil
}

func boundedBy(l *weir.Limits) map[string]bool {
	out := map[string]bool{}
	for _, name := range l.TenantNames() {
		if l.Tenant(name).MaxPending > 0 {
			out[name] = true
		}
	}
	return out
}

// restore puts back what a store has forgotten that went back in time.
func (c *Control) restore(ctx context.Context, there []byte) error {
	c.mu.Lock()
	mine := c.raw
	c.mu.Unlock()
	if _, err := c.Store.Swap(ctx, RecordName, there, mine); err != nil {
		return fmt.Errorf("put back limits: %w", err)
	}
	return nil
}

// apply sets the current limits at the capacity of this node. Partitions and the keepers of
// quotas look there when they are woken.
func (c *Control) apply() {
	now := time.Now().UnixNano()
	c.can.do(func(n *capacity.Node) {
		for r := range c.resources() {
			n.SetLimits(now, r)
		}
	})
	c.Wake(true)
	c.changed.Ring()
}

// know has flow control watch over all registered resources, also those
// not in use yet. Nothing starts on a shared limit of theirs without a quota.
func (c *Control) know() {
	c.can.do(func(n *capacity.Node) {
		for r := range c.resources() {
			n.Resource(r)
		}
	})
}
